"""Messages of assertions and checks: evaluated after the condition and the test, whether these hold or not."""

from typing import Any

import pytest

from tests.kcl.compiler.both_ways import same

_SAID = 'said = lambda x {\n    print(x)\n    x\n}\nfails = lambda {\n    assert False, "in the message"\n    ""\n}\n'
_PLACES = {
    "package": "_n = 2\nassert TEST if COND, MESSAGE\n",
    "lambda": "_n = 2\nf = lambda {\n    assert TEST if COND, MESSAGE\n    1\n}\na = [f() for i in [1, 2, 3]]\n",
    "body of a schema": "_n = 2\nschema S:\n    assert TEST if COND, MESSAGE\na = [S {} for i in [1, 2, 3]]\n",
    "check": "_n = 2\nschema S:\n    check:\n        TEST if COND, MESSAGE\na = [S {} for i in [1, 2, 3]]\n",
    "check by key": "_n = 2\nschema S:\n    [k: str]: int\n    check:\n        TEST if COND, MESSAGE\na = S {q = 1}\n",
    "rule": "_n = 2\nrule R[x]:\n    TEST if COND, MESSAGE\na = [R(1) {}]\n",
}


@pytest.mark.parametrize("place", _PLACES)
def test_a_message_is_evaluated_after_what_it_is_about(monkeypatch: pytest.MonkeyPatch, place: str) -> None:
    def outcome(test: str, cond: str, message: str) -> Any:
        program = _SAID + _PLACES[place].replace("TEST", test).replace("COND", cond).replace("MESSAGE", message)
        return same(monkeypatch, files=["main.k"], work_dir="/w", texts={"main.k": program})

    held = outcome('said("test")', 'said("cond")', 'said("message")')
    assert held[1].split("\n")[:3] == ["cond", "test", "message"]
    assert "in the message" in outcome("_n == 2", "_n > 1", "fails()")[0]
    assert "in the message" not in outcome("_n == 3", "_n > 2", "fails()")[0]
    assert "of 2" in outcome("_n == 3", "_n > 1", '"of ${_n}"')[0]
    assert "of 2" not in outcome("_n == 2", "_n > 1", '"of ${_n}"')[0]
