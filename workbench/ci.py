"""What a CI says of the build that it runs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

_CI_SAYS: Final[Mapping[str, frozenset[str]]] = {
    "GITHUB_EVENT_NAME": frozenset({"pull_request", "pull_request_target", "pull_request_review"}),
    "CI_PIPELINE_SOURCE": frozenset({"merge_request_event", "external_pull_request_event"}),
    "BUILD_REASON": frozenset({"PullRequest"}),
}
"""Variables of which some values say so."""
CI_NUMBERS: Final = (
    *("CI_MERGE_REQUEST_IID", "CI_EXTERNAL_PULL_REQUEST_IID", "BUILDKITE_PULL_REQUEST", "TRAVIS_PULL_REQUEST"),
    *("CIRCLE_PULL_REQUEST", "CIRCLE_PR_NUMBER", "SYSTEM_PULLREQUEST_PULLREQUESTID", "CHANGE_ID", "ghprbPullId"),
    *("BITBUCKET_PR_ID", "DRONE_PULL_REQUEST", "APPVEYOR_PULL_REQUEST_NUMBER", "PULL_NUMBER", "CIRRUS_PR"),
    *("CI_COMMIT_PULL_REQUEST", "WERCKER_PULL_REQUEST", "SEMAPHORE_GIT_PR_NUMBER", "bamboo_repository_pr_key"),
)
"""Variables that say so by being there, unless they say no."""
_NO: Final = frozenset({"", "0", "false", "no", "null", "none"})
_CI: Final = "CI"
_MERGE_BASE: Final = "CI_MERGE_REQUEST_DIFF_BASE_SHA"
_BASE_BRANCH: Final = "GITHUB_BASE_REF"
_GITHUB: Final = "GITHUB_ACTIONS"
_SUMMARY: Final = "GITHUB_STEP_SUMMARY"
VARIABLES: Final = (*_CI_SAYS, *CI_NUMBERS, _CI, _MERGE_BASE, _BASE_BRANCH, _GITHUB, _SUMMARY)
"""All variables of a CI that are looked at: what runs in a CI but is not about its build takes them away."""


def pull_request(environment: Mapping[str, str]) -> str:
    """Returns the variable by which a CI says that it builds a pull or merge request, "" where none does."""
    for name, values in _CI_SAYS.items():
        if environment.get(name, "") in values:
            return name
    return next((name for name in CI_NUMBERS if environment.get(name, "").strip().lower() not in _NO), "")


def changed_range(environment: Mapping[str, str]) -> str | None:
    """Returns the range of commits of the pull or merge request that a CI builds, as git writes it.

    Without a CI it is empty: then the edits in the working tree count. `None` is for a CI that builds anything else,
    as a fresh checkout never differs from its HEAD.
    """
    if base := environment.get(_MERGE_BASE):
        return f"{base}..HEAD"
    if branch := environment.get(_BASE_BRANCH):
        return f"refs/remotes/origin/{branch}...HEAD"
    return "" if environment.get(_CI, "").strip().lower() in _NO else None


def is_github(environment: Mapping[str, str]) -> bool:
    """Tells whether GitHub Actions reads the output."""
    return environment.get(_GITHUB) == "true"


def step_summary(environment: Mapping[str, str]) -> Path | None:
    """Returns the file that GitHub shows as the summary of this step, `None` elsewhere."""
    named = environment.get(_SUMMARY)
    return Path(named) if named else None
