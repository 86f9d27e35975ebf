"""What is live of what a line decides: told with its time, read again when it is old, and never guessed."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from kcl.tools.lsp.living import MOST_FIELDS, OLD_SECONDS, Living
from kcl.tools.lsp.repositories import LiveField, NotLooked, Place, Setting
from kcl.tools.lsp.sessions import Session
from kcl.tools.lsp.surveying import Effect

REPLICAS = Setting("Deployment", "spec.replicas", (Place("/r/main.k", 4, 5),), "7")
OTHER = Setting("Deployment", "spec.paused", (Place("/r/main.k", 4, 5),), "true")


class Told:
    """Clusters that say what they are told to."""

    def __init__(self) -> None:
        self.fields: dict[tuple[str, str], tuple[LiveField, ...]] = {}
        self.problem = ""
        self.asked: list[tuple[str, tuple[tuple[str, str], ...]]] = []

    async def live(
        self, stack: str, texts: Mapping[str, str], fields: Collection[tuple[str, str]]
    ) -> Mapping[tuple[str, str], tuple[LiveField, ...]]:
        self.asked.append((stack, tuple(fields)))
        if self.problem:
            raise NotLooked(self.problem)
        return {key: self.fields[key] for key in fields if key in self.fields}

    async def difference(self, stacks: Sequence[str], texts: Mapping[str, str], path: str, line: int) -> str:
        return ""


class Hours:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def _living() -> tuple[Living, Told, Hours]:
    told, hours = Told(), Hours()
    told.fields[REPLICAS.resource, REPLICAS.field] = LiveField("hangzhou", "5"), LiveField("shanghai", "7")
    return Living(Session(), told, hours), told, hours


def _effect(*settings: Setting, stack: str = "prod") -> list[Effect]:
    return [Effect(stack, settings, ())]


async def test_it_is_read_once_somebody_asks_and_says_when() -> None:
    living, told, _ = _living()
    assert living.title(_effect(REPLICAS)) == "live: not read yet"
    assert not await living.read() and not told.asked, "nobody asked"
    assert living.want(_effect(REPLICAS)) and await living.read()
    title = living.title(_effect(REPLICAS))
    assert title.startswith("live on hangzhou: 5 (here 7); live on shanghai: 7 (") and title.endswith(")")
    assert not living.want(_effect(REPLICAS)), "it is not old"


async def test_what_is_old_is_read_again_and_so_is_what_else_was_asked_of_the_stack() -> None:
    living, told, hours = _living()
    living.want(_effect(REPLICAS))
    await living.read()
    assert living.want(_effect(OTHER)), "of this field nothing is known"
    await living.read()
    assert living.title(_effect(OTHER)) == "", "no cluster of the stack has anything to say of it"
    assert not living.want(_effect(OTHER)), "nor is it asked again and again"
    hours.now += OLD_SECONDS + 1
    assert living.want(_effect(REPLICAS))
    told.problem = "the stack can't be compiled"
    await living.read()
    assert living.title(_effect(REPLICAS)).startswith("live in prod: not known, the stack can't be compiled (")
    assert not living.want(_effect(REPLICAS)), "who failed is asked no sooner again than who answered"


async def test_values_of_several_stacks_are_told_once_each_and_not_too_many() -> None:
    living, told, _ = _living()
    effects = [Effect(f"stack{number}", (REPLICAS,), ()) for number in range(5)]
    living.want(effects)
    for number in range(5):
        told.fields[REPLICAS.resource, REPLICAS.field] = (LiveField("hangzhou", str(number)),)
        living.want(effects[number : number + 1])
    await living.read()
    assert living.title(effects).startswith("live on hangzhou: 4 (here 7) (")
    problem = LiveField("hangzhou", "", "not known, it does not answer")
    told.fields[OTHER.resource, OTHER.field] = (problem,)
    living.want(_effect(OTHER, stack="dev"))
    await living.read()
    assert living.title(_effect(OTHER, stack="dev")).startswith("live on hangzhou: not known, it does not answer (")


def test_a_line_that_decides_much_says_nothing_of_each() -> None:
    living, _, _ = _living()
    settings = tuple(Setting("A", f"f{each}", ()) for each in range(MOST_FIELDS + 1))
    assert not living.want(_effect(*settings)) and living.title(_effect(*settings)) == ""
    assert living.title([]) == ""
