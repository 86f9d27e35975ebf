"""What projects and stacks are called in the tree of a repository.

Apart from what is known of them, as the first frame of the screens shows nothing else, and must load nothing else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.present.text import Line, Span, Tone, line

if TYPE_CHECKING:
    from workbench.project import Project, Stack


def project_name(project: Project) -> Line:
    domain = f"{project.domain}/" if project.domain else ""
    return line(Span(domain, Tone.MUTED), Span(project.name, Tone.STRONG))


def stack_name(stack: Stack) -> Line:
    is_protected = stack.placement is not None and stack.placement.protected
    name = Span(stack.path.stack, Tone.BAD if is_protected else Tone.PLAIN)
    return line(name, Span(" (protected)", Tone.MUTED) if is_protected else "")
