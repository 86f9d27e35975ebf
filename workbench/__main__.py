"""`python -m workbench` is `wb`."""

import sys

# `-m` puts the current folder first, which may be a checkout nobody has read: its json.py would be imported as ours.
if not sys.flags.safe_path and sys.path and sys.path[0] != __file__.rpartition("/")[0].rpartition("/")[0]:
    del sys.path[0]

from workbench.cli.process import process

process()
