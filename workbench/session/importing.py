"""Taking in what exists: live objects or manifests as a new project and stack, compiled before it is written."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kcl.records import replace
from workbench.project import (
    ClusterMapping,
    NamespaceBy,
    NamespaceRule,
    Placement,
    ProjectError,
    ProjectName,
    Stack,
    StackName,
    StackPath,
    UnknownCluster,
)
from workbench.project.bounds import refuse_foreign
from workbench.project.masking import read_masking
from workbench.session.changing import Changing
from workbench.words import few

if TYPE_CHECKING:
    # The engine pulls in the language; a session that only lists stacks must not pay for it.
    from runtimes.base import LiveResource, Owned
    from workbench.engine.compiled import CompileInputs
    from workbench.engine.intake.manifests import Manifest
    from workbench.engine.intake.values import Destination, FirstPlan, Found, Intake, Skipped
    from workbench.engine.spec import Spec

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")

IMPORTED_A_MINUTE = 20_000
"""So many objects are taken in for each minute that evaluating their stack may take, which by default is one. Of small
objects that is a stack of 260,000 lines, which evaluates in some 10 s of an idle processor.
"""
_PARTS = (
    "take in a part, by kind or label: kubectl get KIND -n {} -l LABEL=VALUE -o yaml | wb import yaml - ...; "
    "or allow more: --deadline 300 --max-memory 4G"
)


class Importing(Changing):
    """`wb import`: what is returned is written nowhere until `write_import`."""

    def destination(
        self, project: str, stack: str, *, folder: str = "", cluster: str = "", namespace: str = ""
    ) -> Destination:
        """Returns where a new stack goes. Raises `ImportRefused` where there is one, or names are none for folders."""
        from workbench.engine.intake.values import Destination, ImportRefused

        for what, name in (("project", project), ("stack", stack)):
            if not _NAME.fullmatch(name) or (what == "stack" and name in ("base", "crd")):
                raise ImportRefused(
                    f"{name!r} cannot be the name of a {what}",
                    hint="letters, digits, '-', '_' and '.', beginning with a letter or digit; a folder is called so",
                )
        tree, path = self.tree(), StackPath(ProjectName(project), StackName(stack))
        known = next((each for each in tree.projects if each.name == project), None)
        where = (self.root / folder) if folder else known.directory if known else self.root / project
        self.refuse_outside(where)
        where = where.resolve()
        if not where.is_relative_to(self.root.resolve()):
            raise ImportRefused("lies outside of the repository", where=str(where), hint="name a folder below its root")
        if known is not None and known.directory.resolve() != where:
            raise ImportRefused(
                f"there is a project {project} already", where=str(known.directory), hint="name another with --project"
            )
        taken = next((each for each in tree.stacks() if each.path == path), None)
        if taken is not None:
            raise ImportRefused(
                f"there is a stack {path} already", where=str(taken.directory), hint="name another with --stack"
            )
        return Destination(self.root.resolve(), where, path, cluster, namespace)

    async def import_live(self, destination: Destination, *, with_namespace: bool = False) -> Intake:
        """Reads a namespace of a cluster and returns the stack that says what is there.

        Raises `RuntimeFailure` where the cluster does not answer, `NothingToImport`, or `ImportRefused`.
        """
        import anyio.to_thread

        from runtimes.base import Enumerable, KubernetesId, Misconfigured, ReadRequest, TooMany
        from workbench.engine.intake.values import ImportRefused, NothingToImport

        cluster, namespace = destination.cluster, destination.namespace
        self.tree().clusters.cluster(cluster)
        with self._masking_failures():
            runtime = await self._connections.runtime(cluster)
            if not isinstance(runtime, Enumerable):
                raise Misconfigured("does not tell what is in a namespace", target=cluster)
            try:
                contents = await runtime.contents(namespace, self._most_imported)
            except TooMany as error:
                raise ImportRefused(error.message, where=cluster, hint=_PARTS.format(namespace)) from None
            own = await runtime.read(ReadRequest(KubernetesId("v1", "Namespace", "", namespace)))
        if contents is None:
            raise NothingToImport(
                f"there is no namespace {namespace!r}",
                where=cluster,
                hint=f"kubectl get namespaces lists those of {cluster}",
            )
        extra = (own,) if own is not None and with_namespace else ()
        found, skipped = await anyio.to_thread.run_sync(_taken, contents, extra, destination)
        if not with_namespace:
            from workbench.engine.intake.values import Skipped as Left

            why = "--with-namespace takes it in; then destroying the stack deletes all that is in it"
            skipped = [*skipped, Left(f"Namespace/{namespace}", why)]
        return await self._imported(
            f"namespace {namespace} of cluster {cluster}", destination, found, skipped, unlisted=contents.unlisted
        )

    @property
    def _most_imported(self) -> int:
        return max(1, int(IMPORTED_A_MINUTE * self._settings.allowance.deadline_seconds / 60))

    async def import_manifests(self, destination: Destination, manifests: Sequence[Manifest], source: str) -> Intake:
        """Returns the stack that says what rendered manifests do. Raises `NothingToImport`, or `ImportRefused`."""
        from workbench.engine.intake.manifests import taken

        found, skipped = taken(manifests, destination.namespace)
        return await self._imported(source, destination, found, skipped)

    async def _imported(
        self,
        source: str,
        destination: Destination,
        found: Sequence[Found],
        skipped: Sequence[Skipped],
        unlisted: tuple[str, ...] = (),
    ) -> Intake:
        from workbench.engine.intake import concealing, proving, writing
        from workbench.engine.intake.values import Intake, NothingToImport
        from workbench.engine.shipped import compile_stack

        rules = read_masking(self.root)
        concealed, secrets, unsaid = concealing.concealed(found, rules, destination.path)
        objects, unsayable = proving.sayable(concealed)
        left = (*skipped, *unsaid, *unsayable)
        if not objects:
            raise NothingToImport(
                "there is no object of which a stack could be made",
                where=source,
                hint=few([f"{each.name} ({each.why})" for each in left], 5),
            )
        used = {each.id for each in objects}
        secrets = [each for each in secrets if each.id in used]
        placed = _Placed.of(self.tree().clusters, destination)
        named = writing.variables(objects)
        stack = Stack(
            destination.path,
            destination.directory,
            destination.folder,
            placed.placement,
            secrets=rules,
            root=destination.root,
        )
        intake = Intake(
            source=source,
            destination=destination,
            stack=stack,
            objects=named,
            skipped=left,
            secrets=tuple(secrets),
            files=writing.files(destination, named, f"Imported from {source}.", placed.said),
            appended=placed.appended,
            placement=placed.lines,
            unlisted=unlisted,
            notes=tuple(f"{each.id.kind}/{each.id.name}: {note}" for each in objects for note in each.notes),
        )

        async def compile_(inputs: CompileInputs) -> Spec:
            compiled = await compile_stack(stack, inputs, self.root, self._settings.allowance, results=False)
            return compiled.spec

        modelled = await self._through_models(intake, placed.said, compile_)
        if modelled.modelled:
            return modelled
        await proving.prove(modelled, compile_)
        return modelled

    async def _through_models(
        self, intake: Intake, said: Mapping[str, Any], compile_: Callable[[CompileInputs], Awaitable[Spec]]
    ) -> Intake:
        """Returns the stack with what models of the repository say of it in a few lines, or why they say nothing."""
        from runtimes.registry import with_defaults
        from workbench.engine.compiled import CompileInputs
        from workbench.engine.errors import EngineError
        from workbench.engine.intake import modelling, writing
        from workbench.engine.intake.concealing import with_options
        from workbench.engine.intake.values import Skipped
        from workbench.engine.shipped import proposed_components

        file = self._root.resolve() / modelling.FILE
        if not file.is_file():
            return intake
        names = [modelling.name_of(each) for each in intake.objects.values()]

        def unmodelled(why: str, *more: Skipped) -> Intake:
            return replace(intake, unmodelled=(*more, Skipped("the models", why)))

        if len(set(names)) < len(names):
            return unmodelled("two objects of a kind have one name, in two namespaces")
        objects = [each.body for each in intake.objects.values()]
        try:
            refuse_foreign(file, self._root.resolve())
            proposal = await proposed_components(
                file, objects, self._root, self._settings.allowance, secrets=read_masking(self.root)
            )
        except (EngineError, ProjectError) as error:
            return unmodelled(f"{error.where}: {error.message}")
        wanted = {modelling.name_of(each): with_options(each.body, intake.options) for each in intake.objects.values()}
        namespace, about = intake.destination.namespace, f"Imported from {intake.source}."
        left: list[Skipped] = []
        while proposal.components:
            text = modelling.program(proposal, intake.objects, about)
            files = modelling.files(intake.destination, proposal, text, said)
            try:
                spec = await compile_(CompileInputs(options=intake.options, overlay={**files, **intake.appended}))
            except EngineError as error:
                return unmodelled(f"a stack of them does not compile: {error.message}", *left)
            made = {modelling.made_name(each): _unplaced(each.attributes, namespace) for each in spec}
            wrong = list(modelling.misfits(proposal, made, wanted, with_defaults))
            if not wrong:
                writing.refuse_existing(files)
                found = {f"{each.variable}: {each.schema}": each.objects for each in proposal.components}
                return replace(intake, files=files, modelled=found, unmodelled=tuple(left))
            for component, why in wrong:
                if component is None:
                    return unmodelled(why, *left)
                if component not in proposal.components:
                    continue
                left.append(Skipped(f"{component.variable}: {component.schema}", why))
                proposal = proposal.without(component)
        return replace(intake, unmodelled=tuple(left))

    def write_import(self, intake: Intake) -> tuple[Path, ...]:
        """Writes the files, all of them or none. Raises `EditFailed` where one is there meanwhile."""
        from workbench.engine.whatif import WhatIf

        edits = WhatIf(self.root.resolve())
        for file, text in {**intake.files, **intake.appended}.items():
            self.refuse_outside(file)
            edits = edits.edit(file, text)
        try:
            return edits.write()
        except BaseException:
            edits.restore()
            raise

    async def first_plan(self, intake: Intake) -> FirstPlan:
        """Plans the stack that was written, with its secrets as they were found. Raises as `plan` does."""
        from workbench.engine.compiled import CompileInputs
        from workbench.engine.intake.proving import first_plan

        variables = {**self._settings.secret_environment, **intake.variables}
        settings = replace(self._settings, secret_environment=variables)
        async with type(self)(self._root, settings, current=self._current, connect=self._connect) as session:
            stack = session.tree().stack(intake.destination.path)
            return first_plan(await session.plan(stack, CompileInputs(options=intake.options)))


class _Placed:
    """Where clusters.yaml puts a new stack, and what has to be said for it to go where it was taken from."""

    def __init__(
        self, placement: Placement | None, said: Mapping[str, Any], appended: Mapping[Path, str], lines: str
    ) -> None:
        self.placement, self.said, self.appended, self.lines = placement, said, appended, lines

    @classmethod
    def of(cls, mapping: ClusterMapping, destination: Destination) -> _Placed:
        from workbench.engine.intake import writing

        path, cluster = destination.path, destination.cluster
        if cluster:
            mapping.cluster(cluster)
        placement, appended, lines = None, {}, ""
        try:
            placement = mapping.placement(path)
        except UnknownCluster:
            lines = writing.placement_lines(str(path), cluster or "CLUSTER")
            file = destination.root / "clusters.yaml"
            longer = writing.with_placement(_text(file), str(path), cluster) if cluster else None
            if longer is not None:
                placement, appended, lines = Placement((str(path),), (cluster,)), {file: longer}, ""
        said: dict[str, Any] = {}
        if placement is not None and cluster and placement.clusters != (cluster,):
            said["clusters"] = [cluster]
            placement = replace(placement, clusters=(cluster,))
        if destination.namespace:
            said["namespace"] = {"by": "stack", "name": destination.namespace}
            rule = NamespaceRule(NamespaceBy.STACK, destination.namespace)
            placement = replace(placement, namespace=rule) if placement is not None else None
        return cls(placement, said, appended, lines)


def _unplaced(body: Mapping[str, Any], namespace: str) -> Mapping[str, Any]:
    """An object without its namespace where that is the one of its stack."""
    metadata = body.get("metadata", {})
    if not namespace or metadata.get("namespace") != namespace:
        return body
    return {**body, "metadata": {key: each for key, each in metadata.items() if key != "namespace"}}


def _text(file: Path) -> str:
    from kcl.regular import read_regular_text

    return read_regular_text(file) if file.is_file() else ""


def _taken(
    contents: Owned, extra: Sequence[LiveResource], destination: Destination
) -> tuple[list[Found], list[Skipped]]:
    """Returns the objects of a namespace as a configuration would say them, and the others with the reason."""
    from runtimes.base import KubernetesId
    from runtimes.registry import with_defaults
    from workbench.engine.intake import configuring, taking
    from workbench.engine.intake.manifests import unplaced
    from workbench.engine.intake.values import Skipped

    found, skipped = [], []
    scaled = configuring.autoscaled([each.body for each in contents.resources])
    for each in (*extra, *contents.resources):
        assert isinstance(each.id, KubernetesId), "a cluster has no others"
        if why := taking.why_not(each, destination.path):
            skipped.append(Skipped(f"{each.id.kind}/{each.id.name}", why))
        else:
            found.append(unplaced(configuring.configured(each, with_defaults, scaled), destination.namespace))
    return found, skipped
