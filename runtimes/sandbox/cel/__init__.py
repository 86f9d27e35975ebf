"""CEL, the language of validation rules: parsed, checked against a schema's types, and evaluated within a limit.

As much of it as rules of custom resources use. What is left out is in LIMITS.md; a rule that needs it is not held
against an object, and whoever defines it is warned.
"""
