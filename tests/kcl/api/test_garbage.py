"""What a run made is gone with it: it does not wait for the search for garbage, which takes as long as a run."""

import gc
from pathlib import Path

from kcl import api

DATA = "".join(f'_v{each} = {{\n    name = "n{each}"\n    labels = {{a = {each}}}\n}}\n' for each in range(200))
PROGRAM = f"{DATA}\nnames = [each.name for each in [_v0, _v1]]\n"


def test_nothing_of_a_run_for_itself_is_left_to_be_searched_for(tmp_path: Path) -> None:
    def run() -> None:
        assert api.run(["main.k"], work_dir=tmp_path, texts={"main.k": PROGRAM}).documents == ({"names": ["n0", "n1"]},)

    run()
    gc.collect()
    gc.disable()
    try:
        run()
        found = gc.collect()
    finally:
        gc.enable()
    assert found < 200, "the program makes thousands of objects"
