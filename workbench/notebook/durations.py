"""Time limits as people write them: `30`, `"45s"`, `"5m"`, `"1h30m"`."""

from __future__ import annotations

import re

from workbench.settings import BadSetting

_PART = re.compile(r"(\d+(?:\.\d+)?)(h|m|s|)")
_SECONDS = {"h": 3600.0, "m": 60.0, "s": 1.0, "": 1.0}


def seconds(text: str | float) -> float:
    """Returns seconds; raises `BadSetting` for what is no duration above 0."""
    if isinstance(text, str):
        parts = _PART.findall(text.strip())
        if not parts or "".join(number + unit for number, unit in parts) != text.strip():
            raise BadSetting(f"{text!r} is no duration", hint='write it as 30, "45s", "5m" or "1h30m"')
        value = sum(float(number) * _SECONDS[unit] for number, unit in parts)
    else:
        value = float(text)
    if not 0 < value < float("inf"):
        raise BadSetting(f"a time limit has to be above 0, got {text!r}", hint='write it as 30, "45s" or "5m"')
    return value
