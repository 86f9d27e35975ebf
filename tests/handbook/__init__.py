"""The pages of docs/practices, carried out as they stand."""
