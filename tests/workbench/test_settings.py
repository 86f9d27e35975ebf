"""What the environment says, and which exit code an error gives."""

from __future__ import annotations

from pathlib import Path

import pytest

from runtimes.base import Unreachable
from workbench.engine.errors import ConfirmationRequired, DependencyCycle, Locked, Refused, ReleaseFailure, StalePlan
from workbench.exit_codes import ExitCode, exit_code
from workbench.project import NotARepository, UnknownCluster, UnknownStack
from workbench.settings import BadSetting, Settings


def test_the_environment_decides() -> None:
    found = Settings.load(
        {
            "WB_STATE_DIR": "/s",
            "WB_CACHE_DIR": "/c",
            "WB_READONLY": "1",
            "NO_COLOR": "x",
            "KUBECONFIG": "/k",
            "USER": "ann",
        }
    )
    assert (found.state_dir, found.cache_dir, found.kubeconfig, found.user) == (Path("/s"), Path("/c"), "/k", "ann")
    assert found.is_read_only and not found.has_color
    empty = Settings.load({"NO_COLOR": "", "WB_READONLY": "0"})
    assert empty.has_color and not empty.is_read_only, "NO_COLOR counts only if it is not empty"
    assert not Settings.load({"TERM": "dumb"}).has_color


@pytest.mark.parametrize(
    "env", [{"WB_READONLY": "perhaps"}, {"WB_TIMEOUT": "soon"}, {"WB_TIMEOUT": "-1"}, {"WB_TIMEOUT": "inf"}]
)
def test_values_that_mean_nothing_are_refused_by_name(env: dict[str, str]) -> None:
    with pytest.raises(BadSetting, match=next(iter(env))):
        Settings.load(env)


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (UnknownStack("x"), ExitCode.USAGE),
        (UnknownCluster("x"), ExitCode.USAGE),
        (NotARepository("x"), ExitCode.USAGE),
        (Refused(["x"]), ExitCode.REFUSED),
        (ConfirmationRequired("yes", "x"), ExitCode.REFUSED),
        (StalePlan([]), ExitCode.STALE),
        (Locked("ann"), ExitCode.STALE),
        (ReleaseFailure("x"), ExitCode.ERROR),
        (DependencyCycle([]), ExitCode.ERROR),
        (Unreachable("x"), ExitCode.ERROR),
        (KeyboardInterrupt(), ExitCode.INTERRUPTED),
    ],
)
def test_exit_codes(error: BaseException, code: ExitCode) -> None:
    assert exit_code(error) == code
