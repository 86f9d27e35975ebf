"""Laws that hold for any configuration and any hand-made change: over random ones, on the small cluster."""

from __future__ import annotations

from typing import Any

import anyio
from hypothesis import given, settings
from hypothesis import strategies as st

from runtimes.base import KubernetesId
from tests.sizes import size
from tests.workbench.engine.world import World, config_map, deployment, namespace, secret
from workbench.engine.changes import ChangeClass, Op
from workbench.engine.masking import Masked

EXAMPLES = size(40, 5_000)

WEB = KubernetesId("apps/v1", "Deployment", "shop", "web")

values = st.text("ab", min_size=1, max_size=3)
data = st.dictionaries(st.sampled_from("abcdef"), values, max_size=4)
env = st.lists(st.sampled_from("ABCD"), unique=True, max_size=4).flatmap(
    lambda names: st.tuples(*(values.map(lambda value, name=name: {"name": name, "value": value}) for name in names))  # type: ignore[misc]
)
webs = st.builds(
    lambda image, replicas, env, args, ports: deployment(
        "web",
        image=image,
        replicas=replicas,
        env=list(env),
        args=args,
        ports=[{"containerPort": port} for port in ports],
    ),
    st.sampled_from(["web:1", "web:2"]),
    st.none() | st.integers(0, 3),
    env,
    st.lists(values, max_size=3),
    st.lists(st.sampled_from([80, 443, 8080]), unique=True, max_size=3),
)
stacks = st.tuples(webs, data.map(lambda each: config_map("c", each)), data.map(lambda each: secret("s", each)))
edits = st.lists(
    st.sampled_from(
        [
            (("spec", "replicas"), 7),
            (("spec", "paused"), True),
            (("metadata", "annotations", "note"), "hi"),
            (("metadata", "labels", "team"), "x"),
        ]
    ),
    max_size=3,
)


@settings(max_examples=EXAMPLES, deadline=None)
@given(stacks, stacks, edits)
def test_after_an_apply_there_is_nothing_left_to_do(
    before: tuple[Any, ...], after: tuple[Any, ...], edited: list[Any]
) -> None:
    async def story() -> None:
        world = World()
        await world.release(namespace(), *before)
        for path, value in edited:
            world.hz.edit(WEB, path, value)
        plan = await world.plan(namespace(), *after, force=True)
        await world.apply(plan)
        again = await world.plan(namespace(), *after)
        assert again.is_empty, [each.fields for each in again.steps()]
        kept = {each.path for change in again.changes for each in change.fields}
        said = {path for path, _ in edited if path != ("spec", "replicas") or after[0]["spec"].get("replicas") is None}
        assert kept <= said, "what is left is what a person put there and nobody else sets"

    anyio.run(story)


@settings(max_examples=EXAMPLES, deadline=None)
@given(stacks, stacks, edits)
def test_every_shown_change_says_whose_it_is(
    before: tuple[Any, ...], after: tuple[Any, ...], edited: list[Any]
) -> None:
    async def story() -> None:
        world = World()
        await world.release(namespace(), *before)
        for path, value in edited:
            world.hz.edit(WEB, path, value)
        plan = await world.plan(namespace(), *after)
        for change in plan.changes:
            for each in change.fields:
                assert each.source or each.op in (Op.KEPT, Op.REMOVE), "a line of the source"
                assert each.class_ is not ChangeClass.DRIFT or each.actor, "or a person"
                if change.address.id.kind == "Secret" and each.path[0] == "data":  # type: ignore[union-attr]
                    assert all(value is None or isinstance(value, Masked) for value in (each.before, each.after))

    anyio.run(story)
