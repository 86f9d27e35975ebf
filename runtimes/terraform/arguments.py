"""Argument lists for terraform, built by python-terraform and run by us.

Of that package only the building of arguments is of use: it runs commands synchronously, reads a state file after
each on its own, leaves variables in temporary files, and its defaults are of terraform 0.14. No value of a variable is
ever an argument: arguments can be read by every user of the machine.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from runtimes.base import Misconfigured


class _Builder(Protocol):
    def generate_cmd_string(self, command: str, *arguments: str, **options: Any) -> list[str]: ...


class Arguments:
    """Builds argument lists for one binary. Raises `Misconfigured` where python-terraform is not installed.

    Every command runs in the folder of its process; terraform looks for its configuration there.
    """

    def __init__(self, binary: str) -> None:
        self._builder = _builder(binary)

    def version(self) -> tuple[str, ...]:
        return self._built("version", "json")

    def init(self, *, as_json: bool, forgets: bool = False, moves: bool = False) -> tuple[str, ...]:
        """`forgets` the backend it was initialised for, or `moves` the state from there, asking nothing."""
        more = ("reconfigure",) if forgets else ("migrate-state", "force-copy") if moves else ()
        # terraform tells of a move in words only
        flags = ("no-color", *more, *(["json"] if as_json and not moves else []))
        return self._built("init", *flags, input=False)

    def unlock_state(self, lock: str) -> tuple[str, ...]:
        return self._built("force-unlock", "force", after=(lock,))

    def plan(
        self, file: str, *, targets: Sequence[str] = (), replaces: Sequence[str] = (), lock_timeout_seconds: float
    ) -> tuple[str, ...]:
        return self._built(
            "plan",
            "no-color",
            "json",
            "detailed-exitcode",
            input=False,
            lock_timeout=_seconds(lock_timeout_seconds),
            target=list(targets),
            replace=list(replaces),
            out=file,
        )

    def apply(self, file: str, *, lock_timeout_seconds: float) -> tuple[str, ...]:
        """Applies a saved plan: nothing is asked, nothing is decided again."""
        return self._built(
            "apply", "no-color", "json", after=(file,), input=False, lock_timeout=_seconds(lock_timeout_seconds)
        )

    def show(self, file: str) -> tuple[str, ...]:
        return self._built("show", "no-color", "json", after=(file,))

    def schemas(self) -> tuple[str, ...]:
        return self._built("providers schema", "json")

    def pull_state(self) -> tuple[str, ...]:
        return self._built("state pull")

    def push_state(self, file: str, *, lock_timeout_seconds: float) -> tuple[str, ...]:
        return self._built("state push", after=(file,), lock_timeout=_seconds(lock_timeout_seconds))

    def remove_from_state(self, addresses: Sequence[str], *, lock_timeout_seconds: float) -> tuple[str, ...]:
        return self._built("state rm", after=tuple(addresses), lock_timeout=_seconds(lock_timeout_seconds))

    def _built(self, command: str, *flags: str, after: Sequence[str] = (), **options: Any) -> tuple[str, ...]:
        from python_terraform import IsFlagged

        flagged: Mapping[str, Any] = dict.fromkeys(flags, IsFlagged)
        return tuple(self._builder.generate_cmd_string(command, *after, **flagged, **options))


def _builder(binary: str) -> _Builder:
    try:
        from python_terraform import Terraform
    except ImportError:
        raise Misconfigured(
            "resources of type Terraform need the package python-terraform, which is not installed",
            hint="install it: pip install 'konfig-workbench[terraform]'",
        ) from None

    class Builder(Terraform):  # type: ignore[misc]
        def read_state_file(self, file_path: str | None = None) -> None:
            """Reads nothing: where the state is, the backend says."""

    built: _Builder = Builder(terraform_bin_path=binary)
    return built


def _seconds(seconds: float) -> str:
    return f"{max(0, round(seconds * 1000))}ms"
