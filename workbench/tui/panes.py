"""The room that the panes of a screen have: one gets that of the others, or a part more of it.

Panes are what stands directly in `#panes`, beside or below each other. What a person gave one stays so for all screens
of that kind until the end, for each of the two ways the panes may stand.
"""

from __future__ import annotations

from textual.layouts.horizontal import HorizontalLayout
from textual.screen import Screen
from textual.widget import Widget

from kcl.records import dataclass, field

AWAY, ALONE = "zoomed-away", "zoomed"
"""The classes of panes that another one's zoom took away, and of that one."""
STEP, LEAST = 8, 15
"""In hundredths of the room: what one key moves, and what a pane has at least."""
_WHOLE = 100


@dataclass
class Rooms:
    """What panes were given, in hundredths of the room, by the kind of screen and whether they stand side by side."""

    given: dict[tuple[str, bool], dict[str, int]] = field(default_factory=dict)

    def resize(self, screen: Screen[None], by: int) -> bool:
        """Gives the pane with the focus more room (`by` 1) or less (-1); False where there is no other."""
        shown, own = _shown(screen), _focused(screen)
        if own is None or len(shown) < 2:
            return False
        beside = _stand_beside(own)
        sizes = [each.outer_size.width if beside else each.outer_size.height for each in shown]
        whole = sum(sizes) or 1
        shares = {each: max(1, round(_WHOLE * size / whole)) for each, size in zip(shown, sizes, strict=True)}
        most = _WHOLE - LEAST * (len(shown) - 1)
        wanted = max(LEAST, min(most, shares[own] + by * STEP))
        rest = (_WHOLE - shares[own]) or 1
        for each in shown:
            if each is not own:
                shares[each] = max(1, round(shares[each] * (_WHOLE - wanted) / rest))
        shares[own] = wanted
        self.given[_kind(screen), beside] = {each.id or "": share for each, share in shares.items()}
        self.apply(screen)
        return True

    def apply(self, screen: Screen[None]) -> None:
        """Gives the panes the room they were given before; where they were given none, that of the style sheet."""
        for each in _panes(screen):
            beside = _stand_beside(each)
            share = self.given.get((_kind(screen), beside), {}).get(each.id or "")
            room = f"{share}fr" if share else None
            each.styles.width, each.styles.height = (room, None) if beside else (None, room)


def zoom(screen: Screen[None]) -> None:
    """Gives the pane with the focus all the room, or the others theirs back."""
    own = _focused(screen)
    if any(each.has_class(ALONE) for each in _panes(screen)):
        for each in _panes(screen):
            each.remove_class(AWAY, ALONE)
    elif own is not None:
        for each in _shown(screen):
            each.add_class(ALONE if each is own else AWAY)


def _kind(screen: Screen[None]) -> str:
    return type(screen).__name__


def _panes(screen: Screen[None]) -> list[Widget]:
    found = screen.query("#panes")
    return list(found.first().children) if found else []


def _shown(screen: Screen[None]) -> list[Widget]:
    return [each for each in _panes(screen) if each.display]


def _focused(screen: Screen[None]) -> Widget | None:
    return next((each for each in _panes(screen) if each.has_focus_within), None)


def _stand_beside(pane: Widget) -> bool:
    parent = pane.parent
    return isinstance(parent, Widget) and isinstance(parent.layout, HorizontalLayout)
