"""What `wb update images` found and edits, as lines and as a document."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, Protocol

from runtimes.base import format_path
from workbench.engine.images import UsedImage
from workbench.engine.impact import ImpactReport
from workbench.engine.setting import FieldSet
from workbench.engine.whatif import WhatIf
from workbench.present import setting
from workbench.present.text import Line, Span, Tone, line

_TONES: Final = {"updated": Tone.CHANGED, "newest": Tone.GOOD, "kept": Tone.BAD, "unknown": Tone.WARN}


class Standing(Protocol):
    """An image of a stack and what is known of newer ones."""

    @property
    def used(self) -> UsedImage: ...
    @property
    def standing(self) -> Any: ...
    @property
    def policy(self) -> str: ...
    @property
    def after(self) -> str: ...
    @property
    def why(self) -> str: ...


def lines(stack: str, images: Iterable[Standing]) -> Iterator[Line]:
    yield line(Span(stack, Tone.STRONG))
    for each in images:
        kind = f"{each.used.id.kind}/{each.used.id.name}"
        told = {
            "updated": f"→ {each.after}",
            "newest": "nothing newer",
            "kept": f"→ {each.after} not edited: {each.why}",
            "unknown": f"not known: {each.why}",
            "no policy": "no policy in images.yaml",
        }[str(each.standing)]
        tone = _TONES.get(str(each.standing), Tone.MUTED)
        policy = Span(f"  {each.policy}" if each.policy else "", Tone.MUTED)
        yield line(f"  {kind}  {each.used.image}  ", Span(told, tone), policy)


def patch(edits: WhatIf, done: tuple[FieldSet, ...], report: ImpactReport) -> Iterator[Line]:
    for each in setting.patch(edits, done, report).splitlines():
        yield line(each)


def document(stack: str, images: Iterable[Standing], patch: str) -> Mapping[str, Any]:
    return {
        "stack": stack,
        "images": [
            {
                "resource": str(each.used.id),
                "path": format_path(each.used.path),
                "image": str(each.used.image),
                "policy": each.policy,
                "standing": str(each.standing),
                "after": each.after,
                "why": each.why,
            }
            for each in images
        ],
        "patch": patch,
    }
