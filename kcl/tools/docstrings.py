"""What a schema's documentation says, of the schema and of each attribute."""

from __future__ import annotations

from kcl.patterns import pattern

_ATTRIBUTE_LINE = pattern(r"^(?P<indent>[ \t]*)(?P<name>[\w$-]+)[ \t]*(?::.*)?$")


def plain(text: str) -> str:
    """A docstring without the indentation of its lines."""
    lines = text.strip("\n").split("\n")
    indents = [len(each) - len(each.lstrip()) for each in lines[1:] if each.strip()]
    cut = min(indents, default=0)
    return "\n".join([lines[0].strip(), *(each[cut:].rstrip() for each in lines[1:])]).strip()


def of_attribute(doc: str, name: str) -> str:
    """The lines that a schema's documentation has about an attribute, in the style of numpy."""
    lines = doc.split("\n")
    for at, line in enumerate(lines):
        found = _ATTRIBUTE_LINE.match(line)
        if found is None or found["name"] != name:
            continue
        indent = len(found["indent"])
        said: list[str] = []
        for each in lines[at + 1 :]:
            if each.strip() and len(each) - len(each.lstrip()) <= indent:
                break
            said.append(each.strip())
        return " ".join(each for each in said if each)
    return ""
