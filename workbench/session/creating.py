"""New projects, stacks and components after ones that are there: compiled, and compared with others, before they are
written."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from kcl.records import replace
from workbench.project import ProjectError, Stack, StackName, StackPath, UnknownCluster
from workbench.session.changing import Changing

if TYPE_CHECKING:
    # The engine pulls in the language; a session that only lists stacks must not pay for it.
    from workbench.engine.compiled import CompileInputs
    from workbench.engine.copying import CopiedStack, Copy, Created
    from workbench.engine.spec import Spec
    from workbench.project import ClusterMapping, Component, Placement, Project


class Creating(Changing):
    """`wb new`: what is returned is written nowhere until `write_new`."""

    async def new_stack(self, like: Stack, name: str, *, namespace: str = "") -> Created:
        """Returns a stack beside `like`. Raises `CopyRefused`, or as `compile` does for what would come of it."""
        from workbench.engine.copying import CopyRefused, new_stack

        path = StackPath(like.path.project, StackName(name))
        if any(each.path == path for each in self.tree().stacks()):
            raise CopyRefused(f"there is a stack {path} already", hint="choose another name")
        copy = new_stack(like, name, namespace)
        return await self._proven(copy)

    async def new_project(self, like: Project, name: str, *, folder: str = "", stacks: Iterable[str] = ()) -> Created:
        """Returns a project with the stacks of `like`, or those named. Raises as `new_stack` does."""
        from workbench.engine.copying import CopyRefused, new_project

        known = next((each for each in self.tree().projects if each.name == name), None)
        if known is not None:
            raise CopyRefused(
                f"there is a project {name} already", where=str(known.directory), hint="choose another name"
            )
        chosen = self._chosen(like, tuple(stacks))
        where = self.root / folder if folder else like.directory.parent / name
        self.refuse_outside(where)
        if not where.resolve().is_relative_to(self.root.resolve()):
            raise CopyRefused("lies outside of the repository", where=str(where), hint="name a folder below its root")
        copy = new_project(like, name, where.resolve(), chosen)
        return await self._proven(copy)

    async def new_component(self, project: Project, like: Component, name: str) -> Created:
        """Returns a project with one component more, which no object but its own changes. Raises as `new_stack`."""
        from workbench.engine.compiled import CompileInputs
        from workbench.engine.copying import CopyRefused, Created, new_component
        from workbench.engine.diff import same

        if any(each.name == name for stack in project.stacks for each in stack.components):
            raise CopyRefused(f"{project.name} has a component {name} already", hint="choose another name")
        copy = new_component(like, name)
        objects: dict[StackPath, int] = {}
        added = 0
        for stack in project.stacks:
            before = (await self.compile(stack)).spec
            after = (await self.compile(stack, CompileInputs(overlay=copy.changed))).spec
            for each in before:
                found = after.get(each.id)
                if found is None or not same(found.attributes, each.attributes):
                    raise CopyRefused(
                        f"{each.id} would change: the copy is called the same inside", where=str(like.file)
                    )
            objects[stack.path] = len(after) - len(before)
            added += objects[stack.path]
        if not added:
            raise CopyRefused("the copy makes no object in any stack", where=str(like.file), hint="copy another")
        return Created(copy, objects)

    def write_new(self, created: Created) -> tuple[Path, ...]:
        """Writes the files, all of them or none. Raises `EditFailed` where one is there meanwhile, or changed."""
        from workbench.engine.whatif import WhatIf

        edits = WhatIf(self.root.resolve())
        for file, text in {**created.copy.files, **created.copy.changed}.items():
            self.refuse_outside(file)
            edits = edits.edit(file, text)
        try:
            return edits.write()
        except BaseException:
            edits.restore()
            raise

    def _chosen(self, like: Project, names: tuple[str, ...]) -> tuple[Stack, ...]:
        from workbench.engine.copying import CopyRefused

        known = {str(each.path.stack): each for each in like.stacks}
        for each in names:
            if each not in known:
                raise CopyRefused(f"{like.name} has no stack {each!r}", hint=f"it has {', '.join(known) or 'none'}")
        chosen = tuple(known[each] for each in names) or like.stacks
        if not chosen:
            raise CopyRefused(f"{like.name} has no stack to copy", where=str(like.directory))
        return chosen

    def _as_made(self, made: CopiedStack, placement: Placement | None) -> Stack:
        return replace(
            made.like,
            path=made.path,
            directory=made.directory,
            project_directory=made.project_directory,
            placement=placement,
        )

    async def _proven(self, copy: Copy, mapping: ClusterMapping | None = None) -> Created:
        from workbench.engine.compiled import CompileInputs
        from workbench.engine.copying import CopyRefused, Created, imported_ids, shared_objects

        inputs = CompileInputs(overlay={**copy.files, **copy.changed})
        objects: dict[StackPath, int] = {}
        notes: list[str] = []
        for made in copy.stacks:
            path, like = made.path, made.like
            stack = self._as_made(made, self._placement(made, copy, mapping or self.tree().clusters))
            spec, own = await self._placed(stack, inputs), await self._placed(like, CompileInputs())
            if taken := imported_ids(spec):
                raise CopyRefused(
                    f"{taken[0]} takes over something that {like.name} has, by its id",
                    where=str(path),
                    hint="copy another",
                )
            others = {like.path: own}
            for each in self.tree().stacks():
                if each.path not in (like.path, path) and each.project_directory == stack.project_directory:
                    others[each.path] = await self._placed(each, CompileInputs())
            on = {each.path: set(each.clusters) for each in (*self.tree().stacks(), like)}
            others = {each: other for each, other in others.items() if on[each] & set(stack.clusters)}
            for other, ids in shared_objects(spec, others).items():
                raise CopyRefused(
                    f"{path} would have {len(ids)} objects that {other} has on the same cluster, such as {ids[0]}",
                    hint="two stacks would write them: give it a namespace with --namespace, or copy another",
                )
            objects[path] = len(spec)
            if stack.placement is None:
                notes.append(f"no placement of clusters.yaml covers {path}: add one, or it goes nowhere")
            if spec.secrets & own.secrets:
                notes.append(f"{path} has the same secrets as {like.name}: give it its own")
        return Created(copy, objects, tuple(notes))

    async def _placed(self, stack: Stack, inputs: CompileInputs) -> Spec:
        from workbench.engine.placement import place

        spec = (await self.compile(stack, inputs)).spec
        return place(spec, stack.path, stack.placement.namespace if stack.placement else None)

    def _placement(self, made: CopiedStack, copy: Copy, mapping: ClusterMapping) -> Placement | None:
        from runtimes.base.documents import load_yaml, read_text
        from workbench.project.clusters import override
        from workbench.project.roots import STACK_FILE

        file = made.directory / STACK_FILE
        content = load_yaml({**copy.files, **copy.changed}.get(file) or (read_text(file) if file.exists() else ""))
        try:
            placement = mapping.placement(made.path)
            known = frozenset(each.name for each in mapping.clusters)
            return override(placement, content if isinstance(content, dict) else {}, known, file)
        except UnknownCluster:
            return None
        except ProjectError as error:
            from workbench.engine.copying import CopyRefused

            raise CopyRefused(error.message, where=error.where, hint=error.hint) from error
