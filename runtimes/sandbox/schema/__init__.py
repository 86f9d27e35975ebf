"""What the API server knows about its kinds: fields, types, list keys, constant defaults.

`registry` loads it, `types` says what a type is, `structural` reads the schemas of custom resources, `generate` builds
the shipped data from a real server's OpenAPI documents.
"""
