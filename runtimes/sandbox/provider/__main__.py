"""What terraform starts: `python -m runtimes.sandbox.provider`."""

from __future__ import annotations

import sys


def main() -> int:
    from runtimes.sandbox.provider.plugin import Provider
    from runtimes.sandbox.provider.serving import serve

    return serve(Provider())


if __name__ == "__main__":
    sys.exit(main())
