"""JSON, merge and strategic patches."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtimes.sandbox import decode
from runtimes.sandbox.patch import PatchError, json_patch, merge_patch, patched, strategic

from ..kinds import CONFIG_MAP, DEPLOYMENT, complete, config_map, deployment

Object = dict[str, Any]
values = st.recursive(
    st.none() | st.booleans() | st.integers(0, 3) | st.sampled_from("ab"),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=6,
)
documents = st.dictionaries(st.sampled_from("abc"), values.filter(lambda value: value is not None), max_size=3)


@pytest.mark.parametrize(
    ("operation", "result"),
    [
        ({"op": "add", "path": "/l/1", "value": "x"}, {"l": ["a", "x", "b"]}),
        ({"op": "add", "path": "/l/-", "value": "x"}, {"l": ["a", "b", "x"]}),
        ({"op": "remove", "path": "/l/-1"}, {"l": ["a"]}),
        ({"op": "replace", "path": "/m", "value": 1}, {"l": ["a", "b"], "m": 1}),
        ({"op": "copy", "from": "/l/0", "path": "/m"}, {"l": ["a", "b"], "m": "a"}),
        ({"op": "move", "from": "/l", "path": "/m~1n"}, {"m/n": ["a", "b"]}),
        ({"op": "test", "path": "/nothing", "value": None}, {"l": ["a", "b"]}),
    ],
)
def test_operations_of_json_patches(operation: Object, result: Object) -> None:
    assert json_patch({"l": ["a", "b"]}, [operation]) == result


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "remove", "path": "/m"},
        {"op": "add", "path": "/m/n", "value": 1},
        {"op": "add", "path": "/l/9", "value": 1},
        {"op": "test", "path": "/l/0", "value": "b"},
        {"op": "move", "from": "/m", "path": "/n"},
        {"op": "frobnicate", "path": "/l"},
        {"op": "add"},
    ],
)
def test_an_operation_that_does_not_apply_is_422_without_a_reason(operation: Object) -> None:
    document = {"l": ["a"]}
    with pytest.raises(PatchError) as caught:
        json_patch(document, [{"op": "add", "path": "/l/-", "value": "b"}, operation])
    assert (caught.value.code, caught.value.message) == (
        422,
        "the server rejected our request due to an error in our request",
    )
    assert document == {"l": ["a"]}


@given(documents, documents)
def test_a_merge_patch_applied_twice_is_applied_once(document: Object, patch: Object) -> None:
    once = merge_patch(document, patch)
    assert merge_patch(once, patch) == once
    assert merge_patch(document, {}) == document


def test_null_in_a_merge_patch_removes() -> None:
    assert merge_patch({"a": {"b": 1, "c": 2}, "l": [1]}, {"a": {"b": None, "n": {"x": None}}, "l": [None]}) == {
        "a": {"c": 2, "n": {}},
        "l": [None],
    }


@pytest.mark.parametrize(
    ("patch", "message"),
    [
        (["a"], "error decoding patch: json: cannot unmarshal array into Go value of type map[string]interface {}"),
        (None, "Invalid JSON Patch"),
    ],
)
def test_a_merge_patch_is_an_object(patch: Any, message: str) -> None:
    with pytest.raises(PatchError) as caught:
        merge_patch({}, patch)
    assert (caught.value.code, caught.value.message) == (400, message)


def containers(patch: Any) -> list[Any]:
    document = complete(DEPLOYMENT, deployment())
    result = strategic(DEPLOYMENT, document, {"spec": {"template": {"spec": patch}}})
    found: list[Any] = result["spec"]["template"]["spec"]["containers"]
    return found


def names(patch: Any) -> list[str]:
    return [container["name"] for container in containers(patch)]


def test_elements_merge_by_key_and_new_ones_come_first() -> None:
    merged = containers({"containers": [{"name": "side", "image": "s"}, {"name": "main", "image": "new"}]})
    assert [(each["name"], each["image"]) for each in merged] == [("side", "s"), ("main", "new")]
    assert merged[1]["imagePullPolicy"] == "IfNotPresent"


def test_directives_delete_replace_and_order_elements() -> None:
    assert names({"containers": [{"name": "main", "$patch": "delete"}]}) == []
    assert names({"containers": [{"name": "only"}, {"$patch": "replace"}]}) == ["only"]
    order = [{"name": "main"}, {"name": "side"}]
    assert names({"containers": [{"name": "side"}], "$setElementOrder/containers": order}) == ["main", "side"]


def test_a_list_without_merge_strategy_is_replaced() -> None:
    document = {"spec": {"template": {"spec": {"containers": [{"name": "main", "args": ["a", "b"]}]}}}}
    patch = {"spec": {"template": {"spec": {"containers": [{"name": "main", "args": ["c"]}]}}}}
    result = strategic(DEPLOYMENT, document, patch)
    assert result["spec"]["template"]["spec"]["containers"] == [{"name": "main", "args": ["c"]}]


def test_scalars_are_merged_as_a_set_and_taken_out_by_a_directive() -> None:
    document = {"metadata": {"finalizers": ["a", "b"]}}
    added = strategic(CONFIG_MAP, document, {"metadata": {"finalizers": ["c", "a"]}})
    assert sorted(added["metadata"]["finalizers"]) == ["a", "b", "c"]
    removed = strategic(CONFIG_MAP, document, {"metadata": {"$deleteFromPrimitiveList/finalizers": ["a"]}})
    assert removed["metadata"]["finalizers"] == ["b"]


def test_retain_keys_clears_the_members_it_does_not_name() -> None:
    document = complete(DEPLOYMENT, deployment())
    patch = {"spec": {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}}
    assert strategic(DEPLOYMENT, document, patch)["spec"]["strategy"] == {"type": "Recreate"}


@pytest.mark.parametrize(
    ("patch", "code", "message"),
    [
        ({"containers": [{"image": "x"}]}, 500, "map: map[image:x] does not contain declared merge key: name"),
        (
            {"containers": [{"name": "main", "$patch": "frobnicate"}]},
            500,
            "unknown patch type: frobnicate in map: map[$patch:frobnicate name:main]",
        ),
        ({"$retainKeys": ["a"], "b": 1}, 400, "invalid patch format of retainKeys"),
    ],
)
def test_a_malformed_strategic_patch_is_refused(patch: Object, code: int, message: str) -> None:
    with pytest.raises(PatchError) as caught:
        containers(patch)
    assert (caught.value.code, caught.value.message) == (code, message)


def test_neither_document_nor_patch_is_changed() -> None:
    document, patch = complete(CONFIG_MAP, config_map(k="1")), {"data": {"k": None, "l": "2"}, "$retainKeys": ["data"]}
    before, asked = decode.plain(document), decode.plain(patch)
    strategic(CONFIG_MAP, document, patch)
    patched(CONFIG_MAP, document, patch, "strategic")
    merge_patch(document, patch)
    assert (document, patch) == (before, asked)


def test_each_kind_of_patch_is_read_back_in_its_own_words() -> None:
    document = complete(DEPLOYMENT, deployment())
    wrong = {"spec": {"replicas": "many"}}
    with pytest.raises(PatchError, match=r"cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas"):
        patched(DEPLOYMENT, document, wrong, "merge")
    with pytest.raises(PatchError, match="unrecognized type: int32") as caught:
        patched(DEPLOYMENT, document, wrong, "strategic")
    assert '"map[spec:map[replicas:many]]"' in caught.value.message


def test_problems_of_patch_and_result_are_told_together() -> None:
    body = decode.parse_json('{"data":{"k":"1","k":"2"},"nothing":1}')
    read = patched(CONFIG_MAP, complete(CONFIG_MAP, config_map()), body, "merge")
    assert read.strict == ['duplicate field "data.k"', 'unknown field "nothing"']
    operations = decode.parse_json('[{"op":"add","path":"/data/k","value":"1","valuee":2}]')
    read = patched(CONFIG_MAP, complete(CONFIG_MAP, config_map(l="1")), operations, "json")
    assert read.strict == ['json patch unknown field "[0].valuee"']


def test_a_patch_may_not_make_another_kind_of_it() -> None:
    with pytest.raises(PatchError, match=r'no kind \\?"ConfigMap\\?" is registered for version \\?"v2'):
        patched(CONFIG_MAP, complete(CONFIG_MAP, config_map()), {"apiVersion": "v2"}, "merge")


def test_a_patched_object_that_says_no_kind_is_still_one() -> None:
    before = complete(CONFIG_MAP, config_map(l="1"))
    for patch, way in (({"kind": None}, "merge"), ({"kind": ""}, "merge"), ({"kind": "Odd"}, "strategic")):
        assert patched(CONFIG_MAP, before, patch, way).object["kind"] == "ConfigMap"  # type: ignore[arg-type]


def test_a_patched_object_without_a_version_has_unknown_members_only() -> None:
    read = patched(CONFIG_MAP, complete(CONFIG_MAP, config_map(l="1")), {"apiVersion": None}, "merge")
    assert read.strict == ['unknown field "data"', 'unknown field "metadata"']
    assert not read.object["metadata"]


@pytest.mark.parametrize(("value", "found"), [(1, "number"), ([], "array"), ({}, "object"), (True, "bool")])
def test_kind_and_version_of_a_patched_object_are_texts(value: object, found: str) -> None:
    for name in ("kind", "apiVersion"):
        operation = {"op": "replace", "path": f"/{name}", "value": value}
        with pytest.raises(PatchError) as caught:
            patched(CONFIG_MAP, complete(CONFIG_MAP, config_map()), [operation], "json")
        why = f"json: cannot unmarshal {found} into Go struct field .{name} of type string"
        assert caught.value.message.endswith(f": couldn't get version/kind; json parse error: {why}")


def test_a_number_too_large_for_its_member_is_cut_off() -> None:
    live = complete(DEPLOYMENT, deployment())
    assert (
        patched(DEPLOYMENT, live, {"spec": {"replicas": 10**12}}, "strategic").object["spec"]["replicas"] == -727379968
    )
