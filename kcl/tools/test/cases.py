"""What is asked of a test and what came of it, as plain data that goes from process to process."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kcl.evaluator.coverage import Reached
from kcl.records import dataclass, field, fields


@dataclass(frozen=True, slots=True)
class Case:
    """One test to run. `covered` asks what it reaches.

    With a `program` that is run beside the files, and nothing called; it may write no files. `packages` are folders by
    the names that imports have for them. `arguments` are texts as given to `-D`, `settings` names of settings files.
    If it `is_whole`, what `kcl run` in the folder runs is run, with these settings, and nothing else.
    """

    folder: str
    files: tuple[str, ...]
    name: str
    covered: bool = False
    program: str | None = None
    packages: Mapping[str, str] = field(default_factory=dict)
    arguments: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()
    is_whole: bool = False

    def data(self) -> dict[str, Any]:
        return {each.name: getattr(self, each.name) for each in fields(self)}

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> Case:
        lists = {name: tuple(data[name]) for name in ("files", "arguments", "settings")}
        return cls(**{**data, **lists})


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a test. `failure` is "" where it passed, else all that is to say, in lines."""

    seconds: float
    failure: str = ""
    printed: str = ""
    reached: Mapping[str, Reached] = field(default_factory=dict)

    @property
    def passed(self) -> bool:
        return not self.failure

    def data(self) -> dict[str, Any]:
        reached = {
            path: [
                [[*place, count] for place, count in file.points.items()],
                [[*place, *counts] for place, counts in file.decisions.items()],
            ]
            for path, file in self.reached.items()
        }
        return {"seconds": self.seconds, "failure": self.failure, "printed": self.printed, "reached": reached}

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> Outcome:
        reached = {
            path: Reached(
                {(start, end): count for start, end, count in points},
                {(start, end): [true, false] for start, end, true, false in decisions},
            )
            for path, (points, decisions) in data["reached"].items()
        }
        return cls(data["seconds"], data["failure"], data["printed"], reached)
