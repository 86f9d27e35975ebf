"""Which tests a change may break, nearest first: what `make check` runs of the suite.

`reach` says which module may be changed by which, `selection` orders the test files by how near they are and takes as
many as fit, `seconds` remembers what each took. `python -m tests.affected` looks at git and runs them.

pytest-testmon does this by recording which lines each test runs. It was weighed and left: it traces every test, which
doubles the suite on the oldest Python that is promised, it knows nothing of programs, settings and recordings that are
read as data, and what runs in another process it sees only where coverage is put into all of them.
"""
