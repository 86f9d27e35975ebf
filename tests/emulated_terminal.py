"""A terminal in memory: what stands in each cell after what a program wrote, with what is seen of its attributes."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from rich.cells import cell_len

_ORDERS = re.compile(
    r"\x1b\[([?><=0-9;]*)[ -/]*([@-~])|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1bP[^\x1b]*\x1b\\|\x1b[ -/]*[0-~]|(.)", re.S
)
_ENDED = {"22": "12", "23": "3", "24": "4", "25": "5", "27": "7", "28": "8", "29": "9"}


@dataclass
class EmulatedTerminal:
    """`cells` are by column and row: a sign, and its attributes that are seen. Erasing leaves the colour behind."""

    columns: int
    rows: int
    cells: dict[tuple[int, int], tuple[str, frozenset[tuple[str, str]]]] = field(default_factory=dict)
    x: int = 0
    y: int = 0
    attributes: dict[str, str] = field(default_factory=dict)

    def text(self) -> str:
        """Returns what stands there, a line a row."""
        lines = (
            "".join(self.cells.get((x, y), (" ",))[0] for x in range(self.columns)).rstrip() for y in range(self.rows)
        )
        return "\n".join(lines)

    def write(self, text: str) -> None:
        for found in _ORDERS.finditer(text):
            if found[3] is not None:
                self._put(found[3])
            elif found[2] is not None:
                self._obey(found[1], found[2])

    def _put(self, sign: str) -> None:
        if sign == "\n":
            self.x, self.y = 0, self.y + 1
        elif sign == "\r":
            self.x = 0
        elif sign >= " ":
            self.cells[self.x, self.y] = sign, self._seen(sign)
            for beside in range(1, cell_len(sign)):
                self.cells[self.x + beside, self.y] = "", frozenset()
            self.x += cell_len(sign)

    def _obey(self, given: str, kind: str) -> None:
        numbers = [int(each) if each.isdigit() else 0 for each in given.split(";")]
        match kind:
            case "H":
                self.y, self.x = numbers[0] - 1, (numbers[1] if len(numbers) > 1 else 1) - 1
            case "C":
                self.x = min(self.x + max(1, numbers[0]), self.columns - 1)
            case "X":
                self._erase(range(self.x, self.x + numbers[0]))
            case "K":
                self._erase(range(self.x if not numbers[0] else 0, self.columns))
            case "J":
                self.cells.clear()
            case "m" if not given.startswith((">", "?")):
                self._style(given.split(";") if given else ["0"])

    def _erase(self, columns: range) -> None:
        behind = {"bg": self.attributes["bg"]} if "bg" in self.attributes else {}
        for x in columns:
            self.cells[x, self.y] = " ", frozenset(behind.items())

    def _seen(self, sign: str) -> frozenset[tuple[str, str]]:
        """Of a blank that is neither underlined nor turned round, its colour behind alone."""
        is_blank = sign == " " and not self.attributes.keys() & {"4", "7", "9"}
        shown = {"bg"} if is_blank else self.attributes.keys()
        return frozenset((name, value) for name, value in self.attributes.items() if name in shown)

    def _style(self, parts: list[str]) -> None:
        given = iter(parts)
        for each in given:
            if each in ("38", "48"):
                kind = next(given)
                color = ";".join((kind, *(next(given) for _ in range(3 if kind == "2" else 1))))
                self.attributes["fg" if each == "38" else "bg"] = color
            elif each in ("", "0"):
                self.attributes.clear()
            elif each in ("39", "49"):
                self.attributes.pop("fg" if each == "39" else "bg", None)
            elif each[:-1] in ("3", "9", "4", "10"):
                self.attributes["fg" if each[:-1] in "39" else "bg"] = each
            elif each in _ENDED:
                for flag in _ENDED[each]:
                    self.attributes.pop(flag, None)
            else:
                self.attributes[each] = each
