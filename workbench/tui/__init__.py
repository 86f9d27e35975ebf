"""The terminal face: see app.py for how it is put together."""
