"""The official compiler alone, importing nothing that a program using it would not import."""

from __future__ import annotations

import sys
from typing import Any


def run(arguments: dict[str, Any]) -> None:
    from kcl_lib import api as peer

    args = [peer.Argument(name=name, value=value) for name, value in arguments.pop("args", {}).items()]
    result = peer.API().exec_program(peer.ExecProgramArgs(**arguments, args=args))
    if result.err_message:
        sys.exit(result.err_message)
    sys.stdout.write(result.yaml_result)
