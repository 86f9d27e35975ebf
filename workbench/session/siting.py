"""Whole sites: their files from their declaration, and which stacks they have."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from kcl.records import dataclass, replace
from workbench.project.errors import ProjectError
from workbench.session.creating import Creating
from workbench.words import counted

if TYPE_CHECKING:
    # The engine pulls in the language; a session that only lists stacks must not pay for it.
    from workbench.engine.copying import Created
    from workbench.engine.sites.declaration import Site
    from workbench.engine.sites.writing import SiteFiles
    from workbench.project import ClusterMapping


@dataclass(frozen=True, slots=True)
class SiteStacks:
    """The stacks of a site by name, and what there is to say of it beside."""

    stacks: tuple[str, ...]
    notes: tuple[str, ...] = ()


class Siting(Creating):
    """See `workbench.engine.sites`."""

    async def new_site(self, name: str) -> Created:
        """Returns the files that `sites/NAME.k` wants and that are not there, or say otherwise.

        Raises `InvalidSite`, or `CopyRefused` where one of them was edited since it was written or something else would
        have the same objects; or as `compile` does, for what would come of it. `write_new` writes them.
        """
        from workbench.engine.copying import Copy, CopyRefused

        site, files = await self._site_files(name)
        if edited := files.edited():
            raise CopyRefused(
                f"was edited since it was written{f', and {len(edited) - 1} more' if len(edited) > 1 else ''}",
                where=str(edited[0]),
                hint="say it in the declaration or in main.k beside it, delete the file, and give the command again",
            )
        mapping, longer = self._with_placements(site, files)
        todo = files.missing()
        every = {**files.generated, **files.own, **longer}
        new = {file: every[file] for file in todo if not file.exists()}
        changed = {file: every[file] for file in (*todo, *longer) if file.exists()}
        copy = Copy(files.stacks, new, changed)
        created = await self._proven(copy, mapping)
        await self._refuse_reading_elsewhere(site, files, {**new, **changed})
        return replace(created, notes=(*created.notes, *_left_over(name, files)))

    async def site_stacks(self, name: str, *, to_destroy: bool = False) -> SiteStacks:
        """Returns the stacks of a site, held to its declaration.

        Raises `InvalidSite` where a file is not as it is declared. `to_destroy` takes what was written for it, declared
        or not, and only needs the files of what is declared.
        """
        from workbench.engine.errors import EngineError
        from workbench.engine.sites.declaration import InvalidSite
        from workbench.engine.sites.writing import stacks_written_for

        if not to_destroy:
            _, files = await self._site_files(name)
            self._refuse_missing(name, files)
            return SiteStacks(tuple(str(each.path) for each in files.stacks), _left_over(name, files))
        written = tuple(each.name for each in stacks_written_for(name, self.tree()))
        if not written:
            raise InvalidSite(f"no stack was written for the site {name!r}", where=str(self.root), hint="wb new site")
        try:
            _, files = await self._site_files(name)
        except (EngineError, ProjectError) as error:
            note = f"whether the site {name} has more stacks is not known: {error.where}: {error.message}"
            return SiteStacks(written, (note,))
        lost = [str(each.path) for each in files.stacks if str(each.path) not in written]
        if lost:
            raise InvalidSite(
                f"{lost[0]} is declared and has no files here, so what it has can't be taken away",
                where=str(files.stacks[0].directory),
                hint=f"wb new site {name} writes them; or take it out of the declaration, if it was never applied",
            )
        return SiteStacks(written)

    async def _site_files(self, name: str) -> tuple[Site, SiteFiles]:
        from workbench.engine.shipped import declared_site
        from workbench.engine.sites import declaration
        from workbench.engine.sites.writing import files_of
        from workbench.project.masking import read_masking

        file = declaration.file_of(self._root, name)
        site = await declared_site(file, name, self._root, self._settings.allowance, secrets=read_masking(self._root))
        return site, files_of(site, self.tree())

    def _refuse_missing(self, name: str, files: SiteFiles) -> None:
        from workbench.engine.sites.declaration import InvalidSite

        if missing := files.missing():
            what = "is not there" if not missing[0].exists() else "says otherwise than the declaration"
            more = f", and {counted(len(missing) - 1, 'file')} more not as declared" if len(missing) > 1 else ""
            raise InvalidSite(f"{what}{more}", where=str(missing[0]), hint=f"wb new site {name} writes what it takes")

    def _with_placements(self, site: Site, files: SiteFiles) -> tuple[ClusterMapping, dict[Path, str]]:
        """Returns where stacks go, with one placement more where none covers those of the site, and its file then."""
        from workbench.engine.copying import CopyRefused
        from workbench.engine.intake.writing import placement_lines, with_placement
        from workbench.project import Placement, UnknownCluster
        from workbench.project.roots import CLUSTERS_FILE

        mapping = self.tree().clusters
        try:
            for each in files.stacks:
                mapping.placement(each.path)
        except UnknownCluster:
            glob, file = f"*/{site.name}-*", self._root.resolve() / CLUSTERS_FILE
            longer = with_placement(file.read_text(encoding="utf-8"), glob, site.clusters[0])
            if longer is None:
                lines = placement_lines(glob, site.clusters[0])
                message, hint = "no placement covers the stacks of the site", f"add{lines}"
                raise CopyRefused(message, where=str(file), hint=hint) from None
            more = Placement((glob,), site.clusters[:1])
            return replace(mapping, placements=(*mapping.placements, more)), {file: longer}
        return mapping, {}

    async def _refuse_reading_elsewhere(self, site: Site, files: SiteFiles, overlay: dict[Path, str]) -> None:
        """A stack that reads what another site has, where its own site has the same, would live off that one."""
        from workbench.engine.compiled import CompileInputs
        from workbench.engine.copying import CopyRefused
        from workbench.engine.stack_order import readings_of

        of_site = {each.like.name: str(each.path) for each in files.stacks}
        known = {each.name for each in self.tree().stacks()} | {str(each.path) for each in files.stacks}
        for each in files.stacks:
            stack = self._as_made(each, None)
            readings = readings_of((await self.compile(stack, CompileInputs(overlay=overlay))).spec)
            if wrong := next((name for name in readings if name in of_site or name not in known), None):
                instead = f"not of {of_site[wrong]}" if wrong in of_site else "which is no stack"
                raise CopyRefused(
                    f"{each.path} would read {readings[wrong].output} of {wrong}, {instead}",
                    where=readings[wrong].where,
                    hint='name the stack that is read by option("stack"), so that each reads its own',
                )


def _left_over(name: str, files: SiteFiles) -> tuple[str, ...]:
    return tuple(
        f"{each.name} was written for the site {name}, which does not declare it any more: "
        f"`wb destroy {each.name}` takes away what it has, then delete its folder"
        for each in files.leftover
    )
