"""`kcl test`: runs the lambdas named `test_*` in files named `*_test.k`.

command     the command line; `bounds` and `given` are parts of it
suites      which tests there are
cases       what is asked of one test, and what came of it, as plain data
worker      runs tests, one after the other, in a process that may be ended
pool        hands tests to workers, and ends those that take too long
reporting   outcomes as text and as JUnit XML
"""

from kcl.tools.test.command import main

__all__ = ["main"]
