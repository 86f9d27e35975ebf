"""All that can be done on a screen, to choose from: what has a key, with it, and what is typed after a colon.

What does nothing now is there too, with why.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from textual.command import DiscoveryHit, Hit, Hits, Provider

from kcl.records import dataclass
from workbench.tui import command_line, key_names
from workbench.tui.frame import Frame


@dataclass(frozen=True, slots=True)
class Choice:
    title: str
    about: str
    run: Callable[[], object]


def choices(screen: Frame) -> Iterator[Choice]:
    """Yields the keys of the screen before those that all have, then the commands; texts of ours alone, as a palette
    reads them as markup."""
    app = screen.workbench
    found: dict[str, tuple[Choice, bool]] = {}
    for active in screen.active_bindings.values():
        binding = active.binding
        name = binding.id or ""
        if not key_names.is_ours(name) or binding.action == "app.command_palette" or name in found:
            continue
        keys = app.key(name)
        why_not = screen.why_not(binding.action)
        about = f"{keys}   not now: {why_not}" if why_not else keys
        run: Callable[[], object] = partial(app.run_action, binding.action, active.node)
        if why_not:
            run = partial(screen.notify, why_not, severity="warning")
        found[name] = Choice(binding.description, about, run), not name.startswith(("everywhere.", "tables."))
    yield from (choice for choice, is_own in found.values() if is_own)
    yield from (choice for choice, is_own in found.values() if not is_own)
    for word in command_line.WORDS:
        why_not = screen.why_not_typed(word)
        about = f"typed   not now: {why_not}" if why_not else "typed"
        yield Choice(f":{word}", about, partial(screen.open_command, f"{word} "))


class Actions(Provider):
    async def discover(self) -> Hits:
        for each in self._choices():
            yield DiscoveryHit(each.title, each.run, help=each.about)

    async def search(self, query: str) -> Hits:
        matcher = self.matcher(query)
        for each in self._choices():
            if (score := matcher.match(each.title)) > 0:
                yield Hit(score, matcher.highlight(each.title), each.run, help=each.about)

    def _choices(self) -> Iterator[Choice]:
        return choices(self.screen) if isinstance(self.screen, Frame) else iter(())
