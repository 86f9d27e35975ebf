"""In which forms the pages of discovery are to be had."""

from __future__ import annotations

import pytest

from runtimes.sandbox.api.discovery import AGGREGATED, wanted_form
from runtimes.sandbox.errors import ApiError

BETA = AGGREGATED.replace("v=v2", "v=v2beta1")


@pytest.mark.parametrize(
    ("accept", "form"),
    [
        ("", "application/json"),
        (AGGREGATED, AGGREGATED),
        (f"{AGGREGATED},{BETA},application/json", AGGREGATED),
        (f"{BETA},application/json", "application/json"),
    ],
)
def test_the_first_form_that_is_known_is_taken(accept: str, form: str) -> None:
    assert wanted_form(accept) == form


@pytest.mark.parametrize(
    ("accept", "said"),
    [
        (BETA, "only the following media types are accepted: "),
        ("text/html", "406: Not Acceptable\n\nAvailable representations: "),
    ],
)
def test_forms_that_are_not_to_be_had(accept: str, said: str) -> None:
    with pytest.raises(ApiError) as refused:
        wanted_form(accept)
    known = "application/json, application/yaml, application/vnd.kubernetes.protobuf"
    assert (refused.value.code, refused.value.message) == (406, said + known)
