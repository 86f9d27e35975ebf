"""Where clusters are, in the room there is: the name in any case, then the context, then the server."""

from __future__ import annotations

import pytest

from runtimes.base import ClusterIdentity, Misconfigured, RuntimeFailure
from workbench.present import clusters

PLACES: dict[str, ClusterIdentity | RuntimeFailure] = {
    "hz": ClusterIdentity("hz-admin", "https://10.0.0.1:6443", "ann"),
    "sh": ClusterIdentity("sh", "http://127.0.0.1:8080", "ann"),
    "gone": Misconfigured("there is no context 'gone'"),
}


@pytest.mark.parametrize(
    ("names", "most", "said"),
    [
        (("hz",), 80, "hz (hz-admin 10.0.0.1:6443)"),
        (("hz",), 26, "hz (hz-admin)"),
        (("hz",), 12, "hz"),
        (("hz",), -5, "hz"),
        (("sh",), 80, "sh (http://127.0.0.1:8080)"),
        (("hz", "sh", "gone"), 80, "hz (hz-admin 10.0.0.1:6443), sh (http://127.0.0.1:8080), gone"),
        (("hz", "sh", "gone"), 40, "hz (hz-admin), sh, gone"),
        (("nowhere",), 80, "nowhere"),
    ],
)
def test_clusters_are_said_as_far_as_there_is_room(names: tuple[str, ...], most: int, said: str) -> None:
    assert clusters.in_short(names, PLACES, most) == said


def test_what_is_not_known_of_an_identity_is_said() -> None:
    (known, unknown) = clusters.lines(
        {"hz": ClusterIdentity("c", "https://h", "ann", "0123456789"), "shanghai": ClusterIdentity("d", "https://i")}
    )
    assert str(known) == "hz        context c, https://h as ann, uid 01234567"
    assert str(unknown) == "shanghai  context d, https://i, uid not known"


def test_where_there_is_no_room_a_uid_is_left_out_and_never_that_it_is_not_known() -> None:
    places = {"hz": ClusterIdentity("c", "https://h", "ann", "0123456789"), "sh": ClusterIdentity("d", "https://i")}
    assert [str(each) for each in clusters.few_lines(places, 80)] == [str(each) for each in clusters.lines(places)]
    assert [str(each) for each in clusters.few_lines(places, 30)] == [
        "hz  context c, https://h as ann",
        "sh  context d, https://i, uid not known",
    ]
