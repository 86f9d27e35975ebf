"""Runs hostile programs, a few at a time, each within small limits; prints what became of each as JSON.

python -m tests.attacks.programs_run DEADLINE MEMORY [NAME]...
"""

from __future__ import annotations

import json
import resource
import shutil
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from kcl import api
from kcl.bounded import Allowance, parse_memory
from tests.attacks.hostile_programs import NAMES, output_length, write
from workbench.engine.errors import EvaluationEnded
from workbench.engine.evaluators import Evaluators


def outcome(evaluators: Evaluators, allowance: Allowance, name: str, folder: Path) -> dict[str, str]:
    file = write(name, folder)
    try:
        evaluators.call(allowance, output_length, file)
    except EvaluationEnded as ended:
        return {"ended": ended.message, "where": ended.where, "hint": ended.hint}
    except api.ProgramError as problem:
        return {"finding": problem.diagnostics[0].message[:300]}
    except Exception as error:
        return {"crash": f"{type(error).__name__}: {error}"[:300]}
    finally:
        shutil.rmtree(folder)
    return {"value": ""}


def main(deadline: str, memory: str, *names: str) -> None:
    allowance = Allowance(float(deadline), parse_memory(memory, "MEMORY"), "wb")
    evaluators = Evaluators(2)
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(2) as pool:
        found = {}
        for number, name in enumerate(names or NAMES):
            found[name] = pool.submit(outcome, evaluators, allowance, name, Path(folder) / str(number))
        outcomes = {name: future.result() for name, future in found.items()}
        evaluators.close()
    most = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    sys.stdout.write(json.dumps({"outcomes": outcomes, "most": most}))


if __name__ == "__main__":
    main(*sys.argv[1:])
