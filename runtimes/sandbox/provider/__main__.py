"""What terraform starts: `python -m runtimes.sandbox.provider FOLDER`, with a folder to keep certificates in."""

from __future__ import annotations

import sys
from pathlib import Path


def main(arguments: list[str]) -> int:
    from runtimes.sandbox.provider.plugin import Provider
    from runtimes.sandbox.provider.serving import serve

    return serve(Provider(), Path(arguments[0]))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
