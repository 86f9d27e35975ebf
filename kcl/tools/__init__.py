"""Tools over the language: what its commands do beside running programs."""
