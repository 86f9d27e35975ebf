"""`kcl test` and `kcl vet` held against the official `test` and `validate_code`."""

from __future__ import annotations

import importlib.util
import io
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kcl.cli import main
from tests.kcl.conformance import corpus

_TEST = """
import json, sys
from kcl_lib.api import API, TestArgs
answers = []
for folder in json.load(sys.stdin):
    try:
        found = API().test(TestArgs(pkg_list=[folder]))
        answers.append({each.name: not each.error for each in found.info})
    except Exception as problem:
        answers.append(None)
json.dump(answers, sys.stdout)
"""
_VALIDATE = """
import json, sys
from kcl_lib.api import API, ValidateCodeArgs
answers = []
for data, code, form in json.load(sys.stdin):
    try:
        answers.append(API().validate_code(ValidateCodeArgs(data=data, code=code, format=form)).success)
    except Exception as problem:
        answers.append(False)
json.dump(answers, sys.stdout)
"""


def _official(program: str, question: Any) -> Any:
    if importlib.util.find_spec("kcl_lib") is None:
        pytest.skip("kcl-lib is not installed")
    done = subprocess.run(
        [sys.executable, "-c", program], input=json.dumps(question), capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


def _run(folder: Path, *argv: str) -> tuple[int, str, str]:
    out, err = io.StringIO(), io.StringIO()
    status = main(argv, cwd=folder, stdin=io.StringIO(), stdout=out, stderr=err, environment=dict(os.environ))
    return status, out.getvalue(), err.getvalue()


def _verdicts(folder: Path) -> dict[str, bool] | None:
    """Which tests passed; None where the files of the package are wrong, so that all fail alike."""
    _, out, _ = _run(folder, "test")
    lines = [line.split(": ") for line in out.splitlines() if line.endswith("ms)")]
    return {name: verdict.startswith("PASS") for name, verdict in lines}


def test_packages_with_tests(tmp_path: Path) -> None:
    names = [
        "topology-spread-constraints",
        "json_merge_patch",
        "jsonpatch",
        "difflib",
        "collectionutil",
        "jsonschema",
        "update-image-tag",
        "unique-ingress-host-and-path",
        "argo-application-field-validation",
        "argo-application-prevent-default-project",
    ]
    folders = []
    for name in names:  # the official command writes into the folder
        folders.append(tmp_path / name)
        shutil.copytree(corpus("kcl-modules") / name, folders[-1])
        folders[-1].chmod(0o755)
    theirs = _official(_TEST, [str(each) for each in folders])
    compared = 0
    for folder, expected in zip(folders, theirs, strict=True):
        ours = _verdicts(folder)
        if expected is None:
            assert ours is not None and not any(ours.values()), folder.name
        else:
            assert ours == expected, folder.name
            compared += len(expected)
    assert compared >= 12


_CASES = {
    "assert_ok": "assert f(1) == 2",
    "assert_not": "assert f(1) == 3, 'no'",
    "check": "S {x = -1}",
    "good": "S {x = 1}",
    "divided": "_a = 1 / _zero\n    assert _a > 0",
    "undefined": "Undefined",
    "guarded": "assert False if f(1) == 3",
    "key": "_d = {a = 1}\n    assert _d.b == Undefined",
    "index": "_l = [1]\n    _m = _l[_one + 1]\n    assert True",
    "caught": "_e = runtime.catch(lambda {S {x = -1}})\n    assert 'check' in _e",
    "typed": "_y = f(_text)\n    assert True",
    "private": "assert _zero == 0",
}


def test_outcomes_of_single_tests(tmp_path: Path) -> None:
    code = (
        "import runtime\nschema S:\n    x: int\n    check:\n        x > 0\n"
        "_zero = 0\n_one = 1\n_text = option('none') or 'a'\nf = lambda n: int -> int {\n    n + 1\n}\n"
    )
    tests = "".join(f"test_{name} = lambda {{\n    {body}\n}}\n" for name, body in _CASES.items())
    others = "_test_x = lambda {\n    assert False\n}\ntest_n = 1\n"
    others += "if True:\n    test_in = lambda {\n        assert False\n    }\n"
    for side in ("ours", "theirs"):
        (tmp_path / side).mkdir()
        (tmp_path / side / "code.k").write_text(code)
        (tmp_path / side / "code_test.k").write_text("import runtime\n" + tests + others)
    (theirs,) = _official(_TEST, [str(tmp_path / "theirs")])
    assert theirs is not None
    assert _verdicts(tmp_path / "ours") == theirs
    assert set(theirs) == {f"test_{name}" for name in _CASES}


_SCHEMA = """schema Port:
    port: int
    name?: "a" | "b"
    check:
        0 < port < 65536
schema Base:
    labels?: {str:str}
schema A(Base):
    a: int
    b?: str = "x"
    ratio?: float
    ports?: [Port]
    main?: Port
    either?: int | str
    [...str]: str
    check:
        a > 0 if a != 7, "positive"
        len(labels) < 3 if labels
"""
_VALUES: dict[str, list[Any]] = {
    "a": [1, 0, -1, 7, "1", 1.5, None, True, [1], 2**40],
    "b": ["s", "", 1, None, "${a}", "$", "\\", '"', "\u2028"],
    "ratio": [1, 1.5, "1", None],
    "labels": [{}, {"x": "y"}, {"x": 1}, {"a": "1", "b": "2", "c": "3"}, [], None],
    "ports": [[], [{"port": 1}], [{"port": 0}], [{"port": 1, "name": "c"}], [{"port": 1, "q": 1}], [{}], {}, [1]],
    "main": [{"port": 1}, {"port": "1"}, {}, 1, None],
    "either": [1, "a", 1.5, None, []],
    "other": ["a", 1, None, {}],
    "if": ["keyword"],
    "with-dash": ["x", 2],
}


def test_outcomes_of_validations(tmp_path: Path) -> None:
    documents: list[Any] = [{}, [], [{"a": 1}], [{"a": 1}, {"a": -1}], {"b": "x"}]
    documents += [{"a": 1, key: value} for key, values in _VALUES.items() for value in values]
    documents += [[{"a": 2}, {"a": 1, key: values[-1]}] for key, values in _VALUES.items()]
    (tmp_path / "s.k").write_text(_ordered())
    theirs = _official(_VALIDATE, [(json.dumps(each), _ordered(), form) for each in documents for form in ("json",)])
    wrong = []
    for each, expected in zip(documents, theirs, strict=True):
        (tmp_path / "d.json").write_text(json.dumps(each))
        status, _, err = _run(tmp_path, "vet", "d.json", "s.k")
        if (status == 0) != expected:
            wrong.append(f"{json.dumps(each)}: official {expected}, ours {status == 0}\n{err}")
    assert not wrong, "\n".join(wrong)


def _ordered() -> str:
    """The schemas, with the one that is validated first, which is what is taken when none is named."""
    before, after = _SCHEMA.split("schema A(Base)")
    return f"schema A(Base){after}{before}"
