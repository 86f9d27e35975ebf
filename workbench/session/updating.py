"""Newer images for stacks: what registries have, by the policies of the repository, as edits of the source."""

from __future__ import annotations

import os
from collections.abc import Collection
from enum import StrEnum
from typing import TYPE_CHECKING

from kcl.records import dataclass, field, replace
from workbench.project import Stack, StackPath, WorkbenchError
from workbench.project.images import DIGEST, ImagePolicy, read_images
from workbench.session.editing import Editing

if TYPE_CHECKING:
    # The engine pulls in the language; a session that only lists stacks must not pay for it.
    from workbench.engine.images import Image, UsedImage
    from workbench.engine.impact import ImpactReport
    from workbench.engine.setting import FieldSet
    from workbench.engine.whatif import WhatIf


class Standing(StrEnum):
    """`UNKNOWN`: whether there is a newer one nobody could tell. `KEPT`: there is, and no edit says so."""

    UPDATED = "updated"
    NEWEST = "newest"
    KEPT = "kept"
    UNKNOWN = "unknown"
    NO_POLICY = "no policy"


@dataclass(frozen=True, slots=True)
class ImageUpdate:
    """One field that names an image; `after` is what it is to be, the same where nothing changes. `why` is for the
    standings that need one."""

    used: UsedImage
    standing: Standing
    policy: str = ""
    after: str = ""
    why: str = ""


@dataclass(frozen=True, slots=True)
class StackUpdate:
    """`edits` make the source say the newer images; written nowhere yet."""

    stack: Stack
    images: tuple[ImageUpdate, ...]
    edits: WhatIf = field(repr=False)
    done: tuple[FieldSet, ...] = ()
    report: ImpactReport | None = field(default=None, repr=False)

    @property
    def is_certain(self) -> bool:
        return not any(each.standing in (Standing.UNKNOWN, Standing.KEPT) for each in self.images)


class Updating(Editing):
    """`wb update images`: `registries` are the hosts that may be asked, as the user named them."""

    async def update_images(self, stack: Stack, registries: Collection[str]) -> StackUpdate:
        """Returns the images of a stack with what is newer. Raises as `compile` does, `BrokenFile` for images.yaml.

        A registry that may not be asked or does not answer leaves its images unknown.
        """
        from workbench.engine.images import used_images

        policies = read_images(self.root)
        spec = (await self.compile(stack)).spec
        found: list[ImageUpdate] = []
        for used in used_images(spec):
            policy = next((each for each in policies if each.covers(stack.path, used.image.name)), None)
            if policy is None:
                found.append(ImageUpdate(used, Standing.NO_POLICY))
            else:
                found.append(await self._looked_up(used, policy, registries))
        return await self._edited(stack, found, policies)

    async def _looked_up(self, used: UsedImage, policy: ImagePolicy, registries: Collection[str]) -> ImageUpdate:
        import anyio.to_thread

        from kcl.packages.failure import PackageFailure

        host = used.image.host
        unknown = ImageUpdate(used, Standing.UNKNOWN, policy.policy)
        if self.trust.untrusted:
            return replace(unknown, why=self.trust.refusal("no registry was asked"))
        if host not in registries:
            return replace(unknown, why=f"{host} was not asked: --registry {host} lets it be")
        try:
            after, why = await anyio.to_thread.run_sync(_newest, used.image, policy.policy)
        except PackageFailure as failure:
            return replace(unknown, why=str(failure))
        if after is None:
            return replace(unknown, why=why)
        if after == str(used.image):
            return replace(unknown, standing=Standing.NEWEST, after=after)
        return replace(unknown, standing=Standing.UPDATED, after=after)

    async def _edited(self, stack: Stack, found: list[ImageUpdate], policies: Collection[ImagePolicy]) -> StackUpdate:
        from workbench.engine.setting import Where

        edits, done, images = self.whatif(stack), [], []
        report = None
        for each in found:
            if each.standing is not Standing.UPDATED:
                images.append(each)
                continue
            why = ""
            for where in (Where.AUTO, Where.HERE):
                try:
                    tried, one = await self._assigned(stack, edits, each, where)
                except WorkbenchError as error:
                    why = why or f"{error.message}{f': {error.hint}' if error.hint else ''}"
                    continue
                effect = await self.effect(tried)
                if where is Where.HERE or not _others(effect, stack, each, policies):
                    edits, report = tried, effect
                    done.append(one)
                    images.append(each)
                    break
                why = "its line decides stacks that no policy lets have it"
            else:
                images.append(replace(each, standing=Standing.KEPT, why=why))
        return StackUpdate(stack, tuple(images), edits, tuple(done), report)

    async def _assigned(
        self, stack: Stack, edits: WhatIf, update: ImageUpdate, where: object
    ) -> tuple[WhatIf, FieldSet]:
        from workbench.engine.setting import Where, assign

        assert isinstance(where, Where)
        used = update.used
        return await assign(
            edits, lambda given: self.compile(stack, given), stack, used.id, used.path, update.after, where
        )


def _others(
    report: ImpactReport, stack: Stack, update: ImageUpdate, policies: Collection[ImagePolicy]
) -> tuple[str, ...]:
    """Returns the other stacks that an edit changes and whose policy for the image, if any, is another."""
    image = update.used.image.name
    own = next(each for each in policies if each.covers(stack.path, image))
    changed = [StackPath.parse(each.stack) for each in report.stacks if each.is_affected and each.stack != stack.name]
    return tuple(
        str(each)
        for each in changed
        if next((policy for policy in policies if policy.covers(each, image)), None) != own
    )


def _newest(image: Image, policy: str) -> tuple[str | None, str]:
    """Asks the registry; returns what the field should say, or None and why nobody knows. Raises `PackageFailure`."""
    from kcl.packages.oci import Registry
    from workbench.engine import images

    registry = Registry(image.host, os.environ)
    if policy == DIGEST:
        if not image.tag:
            return None, "it has no tag of which a digest could be looked for"
        return str(replace(image, digest=registry.digest(image.repository, image.tag))), ""
    current = images.parse_version(image.tag)
    if current is None:
        return None, f"its tag {image.tag or '(none)'} is no version: name one, or give it the policy digest"
    tags = registry.tags(image.repository)
    if image.tag not in tags:
        return None, f"the registry does not have the version in use among its {len(tags)} tags"
    tag = images.newest(current, tags, policy)
    if tag is None or images.parse_version(tag) == current:
        return str(image), ""
    digest = registry.digest(image.repository, tag) if image.digest else ""
    return str(replace(image, tag=tag, digest=digest)), ""


__all__ = ["ImageUpdate", "StackUpdate", "Standing", "Updating"]
