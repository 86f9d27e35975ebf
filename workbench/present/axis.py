"""An axis of time in so many cells of a line."""

from __future__ import annotations

from datetime import datetime, timedelta

from kcl.records import dataclass

_STEPS = (1.0, 2.0, 5.0, 10.0, 15.0, 30.0, 60.0, 120.0, 300.0, 600.0, 900.0, 1800.0, 3600.0)


@dataclass(frozen=True, slots=True)
class Axis:
    """`width` cells from `begin` on, each of so many seconds; 0 where all of it is one moment."""

    begin: datetime
    width: int
    cell_seconds: float

    @classmethod
    def of(cls, begin: datetime, end: datetime, width: int) -> Axis:
        """Returns one that is as long as from begin to end."""
        return cls(begin, width, (end - begin).total_seconds() / width)

    @classmethod
    def growing(cls, begin: datetime, now: datetime, width: int) -> Axis:
        """Returns one of even cells with room for what comes, so that what is drawn stays where it is for long."""
        seconds = max(0.0, (now - begin).total_seconds())
        step = next((each for each in _STEPS if each * width > seconds), None)
        return cls(begin, width, step if step is not None else seconds / max(1, width - 1))

    def cell(self, moment: datetime) -> int:
        """Returns the cell of a moment; the last one for what comes after it."""
        if not self.cell_seconds:
            return self.width - 1
        return max(0, min(self.width - 1, int((moment - self.begin).total_seconds() / self.cell_seconds)))

    def start_of(self, cell: int) -> datetime:
        return self.begin + timedelta(seconds=cell * self.cell_seconds)
