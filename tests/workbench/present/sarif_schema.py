"""As much of SARIF 2.1.0 as `wb ci` writes, closed: a property that is misspelt, or not of the standard, fails.

Written after sections 3.13 to 3.58 of https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html
"""

from __future__ import annotations

from typing import Any, Final


def _closed(properties: dict[str, Any], *required: str) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": False, "properties": properties, "required": list(required)}


def _listed(items: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items, "minItems": 0}


_TEXT: Final = {"type": "string", "minLength": 1}
_MESSAGE: Final = _closed({"text": _TEXT}, "text")
_LEVEL: Final = {"enum": ["none", "note", "warning", "error"]}
_PHYSICAL: Final = _closed(
    {
        "artifactLocation": _closed(
            # relative, and of the characters that a URI has
            {
                "uri": {"type": "string", "pattern": r"^(?!/)(?![A-Za-z]+:)[A-Za-z0-9._~%/\-!$&'()*+,;=@]+$"},
                "uriBaseId": _TEXT,
            },
            "uri",
        ),
        "region": _closed({"startLine": {"type": "integer", "minimum": 1}}, "startLine"),
    },
    "artifactLocation",
)
_LOCATION: Final = _closed(
    {
        "id": {"type": "integer", "minimum": 0},
        "physicalLocation": _PHYSICAL,
        "logicalLocations": _listed(_closed({"fullyQualifiedName": _TEXT, "kind": _TEXT})),
        "message": _MESSAGE,
    }
)
_RESULT: Final = _closed(
    {
        "ruleId": _TEXT,
        "ruleIndex": {"type": "integer", "minimum": 0},
        "level": _LEVEL,
        "message": _MESSAGE,
        "locations": _listed(_LOCATION),
        "relatedLocations": _listed(_LOCATION),
        "partialFingerprints": {"type": "object", "additionalProperties": {"type": "string"}, "minProperties": 1},
        "suppressions": _listed(
            _closed(
                {
                    "kind": {"enum": ["inSource", "external"]},
                    "status": {"enum": ["accepted", "underReview", "rejected"]},
                    "justification": _TEXT,
                },
                "kind",
            )
        ),
        "properties": {"type": "object"},
    },
    "message",
)
_RULE: Final = _closed(
    {
        "id": _TEXT,
        "name": _TEXT,
        "shortDescription": _MESSAGE,
        "fullDescription": _MESSAGE,
        "help": _MESSAGE,
        "defaultConfiguration": _closed({"level": _LEVEL}),
    },
    "id",
)
SARIF: Final = _closed(
    {
        "$schema": _TEXT,
        "version": {"const": "2.1.0"},
        "runs": _listed(
            _closed(
                {
                    "tool": _closed(
                        {"driver": _closed({"name": _TEXT, "version": _TEXT, "rules": _listed(_RULE)}, "name")},
                        "driver",
                    ),
                    "invocations": _listed(
                        _closed(
                            {
                                "executionSuccessful": {"type": "boolean"},
                                "toolExecutionNotifications": _listed(
                                    _closed(
                                        {"level": _LEVEL, "message": _MESSAGE, "locations": _listed(_LOCATION)},
                                        "message",
                                    )
                                ),
                            },
                            "executionSuccessful",
                        )
                    ),
                    "originalUriBaseIds": {"type": "object"},
                    "columnKind": {"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
                    "results": _listed(_RESULT),
                },
                "tool",
            )
        ),
    },
    "version",
    "runs",
)
