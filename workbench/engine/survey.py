"""Asks every cluster of a stack what is there and what an apply would make of it: Spec → StackDiff.

Reads and dry runs only, and no dry run where the ownership of fields tells that nothing would change. Clusters are
asked side by side, each with a bounded number of questions at once. A cluster that cannot be asked is one problem, not
one for each resource; a refused dry run is a problem of its resource, never replaced by a guess. The one thing that is
predicted without asking is what can't be asked: a custom resource whose definition the same plan creates.

The workspace of Terraform resources is asked beside the clusters; only what refers to one of them waits for it. Where
a value is not known before applying, a dry run gets a placeholder, and the field is shown as unknown. A dry run that
is refused with placeholders in it may be refused because of them: that is said, and nothing is concluded.

What is secret is known only when everything has answered (a live Secret may hold what another object repeats), so
answers become changes, and messages are shown, at the end.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path

import anyio

from kcl.records import replace
from runtimes.base import Address, ResourceId
from workbench.engine.changes import StackDiff
from workbench.engine.graph import dependencies, waves
from workbench.engine.place_kinds import CLUSTER, WORKSPACE
from workbench.engine.places.place import Place
from workbench.engine.places.surveying import Seals, Surveying
from workbench.engine.release import Release
from workbench.engine.scrubbing import scrubbed
from workbench.engine.spec import Spec
from workbench.project.ignores import IgnoreRule


async def survey(
    spec: Spec,
    places: Sequence[Place],
    *,
    prior: Release | None,
    labels: Mapping[str, str],
    prune: bool,
    seals: Seals,
    at: datetime,
    adopts: bool = False,
    root: Path | None = None,
    accept_lost: bool = False,
    dry_run_all: bool = False,
    takes_away: bool = False,
    replaces: frozenset[Address] = frozenset(),
    forgets: frozenset[ResourceId] = frozenset(),
    ignores: tuple[IgnoreRule, ...] = (),
) -> StackDiff:
    """Compares a placed Spec with what each place has; one that cannot be asked is a problem.

    `labels` select what the stack owns in clusters; `adopts` takes all that carries them as the stack's. `at` is now.
    Changes come in the order of applying, deletions last. Problems name source lines relative to `root`. `accept_lost`
    takes for gone what Terraform's state has lost. `dry_run_all` has clusters dry-run also what ownership tells.
    `takes_away` what people put into live objects, which an apply leaves there otherwise.
    `replaces` are to be deleted and made again although nothing else calls for it. `forgets` are to leave Terraform's
    state and stay where they are: the difference is of them alone then. `ignores` say which fields are left to others.
    """
    surveying = Surveying(
        spec,
        prior,
        labels,
        seals,
        adopts=adopts,
        root=root,
        accept_lost=accept_lost,
        dry_run_all=dry_run_all,
        takes_away=takes_away,
        replaces=replaces,
        forgets=forgets,
        ignores=ignores,
    )
    surveys = [each.survey(surveying) for each in places]
    async with anyio.create_task_group() as tasks:
        for each in surveys:
            tasks.start_soon(each.run, prune)
    answers = [each.found() for each in surveys]
    ordered = [id_ for wave in waves(dependencies(spec.resources), [each.id for each in spec]) for id_ in wave]
    changes = [each.changes[id_] for id_ in ordered for each in answers if id_ in each.changes]
    changes += [change for each in answers for change in each.deletions]
    secrets = spec.secrets | surveying.secrets
    return StackDiff(
        replace(spec, secrets=secrets),
        tuple(each.name for each in places if each.kind is CLUSTER),
        tuple(replace(each, warnings=scrubbed(each.warnings, secrets, spec.rules)) for each in changes),
        at,
        scrubbed(tuple(problem for each in answers for problem in each.problems), secrets, spec.rules),
        scrubbed(tuple(warning for each in answers for warning in each.warnings), secrets, spec.rules),
        next((each.name for each in places if each.kind is WORKSPACE), ""),
        release=prior.revision if prior is not None else 0,
        cautions=scrubbed(tuple(caution for each in answers for caution in each.cautions), secrets, spec.rules),
        gaps=scrubbed(tuple(gap for each in answers for gap in each.gaps), secrets, spec.rules),
        notes=scrubbed(tuple(surveying.notes), secrets, spec.rules),
        left_to_others=surveying.left_to_others,
        replaced=replaces,
        forgets=forgets,
    )
