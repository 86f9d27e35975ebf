"""What Terraform says went wrong, led back to the resource and the attribute that were written."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from runtimes.base import Finding, ResourceId, RuntimeFailure
from runtimes.terraform.configuration import Configuration


def finding(diagnostic: Mapping[str, Any], configuration: Configuration | None) -> Finding | None:
    """Reads the `diagnostic` of an event; None for the warnings about `-target` that we cause ourselves.

    `configuration` is None before there is one (`init` of an empty folder, `version`).
    """
    raise NotImplementedError


def failure(
    findings: Iterable[Finding], *, place: str = "terraform", id_: ResourceId | None = None, doing: str = "plan"
) -> RuntimeFailure:
    """Returns the failure that the errors among the findings amount to, of the class that fits.

    `doing` is what terraform was asked for, in words of ours: init, plan, apply. Locked is `Overloaded`, and says by
    whom and since when; a stale plan is `Moved`.
    """
    raise NotImplementedError


def does_not_exist(finding: Finding) -> bool:
    """Whether an import failed only because there is nothing under that id."""
    raise NotImplementedError
