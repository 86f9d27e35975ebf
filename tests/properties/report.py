"""What fuzzing comes to: how much was tried, and the first input that showed each kind of finding."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Generic, TypeVar

Input = TypeVar("Input", str, bytes)


@dataclass
class Report(Generic[Input]):
    """`inputs` are counted by kind; `accepted` are those that are right, `compared` those given to another reader too.

    `features` are what they covered, where that is looked at; `corpus` is how many inputs are worth changing again.
    """

    inputs: Counter[str] = field(default_factory=Counter)
    accepted: int = 0
    compared: int = 0
    features: set[str] = field(default_factory=set)
    corpus: int = 0
    findings: dict[str, Input] = field(default_factory=dict)

    def text(self) -> str:
        compared = f", {self.compared} given to another reader too" if self.compared else ""
        features = f", {len(self.features)} features covered" if self.features else ""
        lines: list[str] = [
            f"{self.inputs.total()} inputs of {len(self.inputs)} kinds, {self.accepted} of them accepted{compared}",
            f"{self.corpus} inputs worth changing again{features}",
            f"{len(self.findings)} kinds of findings",
        ]
        return "\n".join([*lines, *sorted(self.findings)])
