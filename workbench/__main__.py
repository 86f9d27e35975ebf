"""`python -m workbench` is `wb`."""

from workbench.cli.main import main

main()
