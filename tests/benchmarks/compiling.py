"""Compiling the sample repository, and a program that is all evaluation: ours and the official compiler's."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import yaml

from kcl import api
from workbench.project import Stack, discover

SAMPLE = Path(__file__).parents[2] / "sample-konfig"
Case = tuple[str, Callable[[], object], Callable[[], object]]

EVALUATION = """
schema Base:
    name: str
    labels: {str:str} = {app = name}
    replicas: int = 1
    a0: int = replicas + 1
    a1: int = a0 + 1
    a2: int = a1 + 1
    a3: int = a2 + 1

schema Middle(Base):
    b0: str = "${name}-${a3}"
    b1: [int] = [i * replicas for i in range(5)]
    b2: {str:int} = {"k${i}" = i for i in range(5)}
    check:
        replicas > 0, "replicas"

schema Top(Middle):
    limits: {str:str} = {cpu = "100m", memory = "64Mi"} | ({cpu = "1"} if replicas > 2 else {})

items = [Top {name = "n${i}", replicas = i % 4 + 1, labels.team = "t"} for i in range(1000)]
"""


def cases() -> Iterator[Case]:
    """Yields name, our work and the peer's: the same files, the same options, from text to YAML."""
    stacks = list(discover(SAMPLE).stacks())
    one = next(each for each in stacks if each.name == "checkout/prod")
    yield "one stack of the sample, nothing cached", lambda: _ours(one, None), lambda: _peers(one)
    cache = api.ParseCache()
    yield "one stack of the sample, parsed files kept", lambda: _ours(one, cache), lambda: _peers(one)

    def all_ours() -> None:
        shared = api.ParseCache()
        for stack in stacks:
            _ours(stack, shared)

    yield "all 12 stacks of the sample, one process, cold", all_ours, lambda: [_peers(each) for each in stacks]
    yield "1,000 instances over 3 levels of inheritance", _evaluate, _peer_evaluate


def _ours(stack: Stack, cache: api.ParseCache | None) -> str:
    return api.run(work_dir=stack.directory, cache=cache).yaml()


def _peers(stack: Stack) -> str:
    from kcl_lib import api as official

    settings = yaml.safe_load((stack.directory / "kcl.yaml").read_text())
    files = [each.replace("${KCL_MOD}", str(SAMPLE)) for each in settings["kcl_cli_configs"]["file"]]
    arguments = official.ExecProgramArgs(
        work_dir=str(stack.directory),
        k_filename_list=[str((stack.directory / each).resolve()) for each in files],
        args=[official.Argument(name=each["key"], value=f'"{each["value"]}"') for each in settings["kcl_options"]],
    )
    result: str = official.API().exec_program(arguments).yaml_result
    return result


def _evaluate() -> str:
    return api.run(["main.k"], work_dir="/", texts={"main.k": EVALUATION}).yaml()


def _peer_evaluate() -> str:
    from kcl_lib import api as official

    arguments = official.ExecProgramArgs(work_dir="/", k_filename_list=["main.k"], k_code_list=[EVALUATION])
    result: str = official.API().exec_program(arguments).yaml_result
    return result
