"""What a CI says of the build that it runs."""

from __future__ import annotations

from collections.abc import Mapping
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
_NO: Final = frozenset({"", "0", "false", "null", "none"})


def pull_request(environment: Mapping[str, str]) -> str:
    """Returns the variable by which a CI says that it builds a pull or merge request, "" where none does."""
    for name, values in _CI_SAYS.items():
        if environment.get(name, "") in values:
            return name
    return next((name for name in CI_NUMBERS if environment.get(name, "").strip().lower() not in _NO), "")
