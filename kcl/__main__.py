"""`python -m kcl`."""

import sys

from kcl.cli import entry

if __name__ == "__main__":
    sys.exit(entry())
