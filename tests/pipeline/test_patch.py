"""JSON Patch: RFC 6902's own examples, a differential test, and who may see what change."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any, cast

import jsonpatch
import jsonpointer
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agui_wire.errors import AguiWireError
from agui_wire.pipeline.patch import Document, PatchError, apply_patch
from tests.pipeline.patch_cases import APPENDIX_A, FAILS, MORE


@pytest.mark.parametrize(
    ("document", "patch", "result"),
    [case[1:] for case in APPENDIX_A + MORE],
    ids=[case[0] for case in APPENDIX_A + MORE],
)
def test_case(document: Any, patch: Any, result: Any) -> None:
    before = (json.dumps(document), copy.deepcopy(patch))
    if result is FAILS:
        with pytest.raises(PatchError):
            apply_patch(document, patch)
    else:
        assert json.dumps(apply_patch(document, patch), sort_keys=True) == json.dumps(
            result, sort_keys=True
        )
    assert (json.dumps(document), patch) == before


def test_error_names_the_operation_and_the_reason() -> None:
    patch = [
        {"op": "add", "path": "/a", "value": 1},
        {"op": "replace", "path": "/b/c", "value": 1},
    ]
    with pytest.raises(PatchError, match=r"operation 1 .*'replace' at '/b/c'.*no member 'b'") as it:
        apply_patch({}, patch)
    assert it.value.index == 1
    assert isinstance(it.value, AguiWireError)


def test_what_is_not_on_the_path_is_shared() -> None:
    document = {"a": {"x": 1}, "b": {"y": [1]}}
    value = [1]
    patched = apply_patch(document, [{"op": "add", "path": "/a/z", "value": value}])
    assert patched["b"] is document["b"]
    assert patched["a"]["z"] is value
    assert apply_patch(document, []) is document


def test_value_of_an_operation_is_never_changed() -> None:
    value: dict[str, Any] = {"list": []}
    document = Document({})
    for number in range(3):
        document.patch([{"op": "add", "path": "/v", "value": value}])
        document.patch([{"op": "add", "path": "/v/list/-", "value": number}])
    assert value == {"list": []}
    assert document.read() == {"v": {"list": [2]}}


def test_containers_are_copied_once_until_they_are_read() -> None:
    first: dict[str, Any] = {"a": {}}
    document = Document(first)
    seen = []
    for number in range(2):
        document.patch([{"op": "add", "path": "/a/n", "value": number}])
        seen.append(document._value["a"])
    assert seen[0] is seen[1]
    read = document.read()
    document.patch([{"op": "add", "path": "/a/n", "value": 9}])
    assert (first, read) == ({"a": {}}, {"a": {"n": 1}})
    assert document.read() == {"a": {"n": 9}}


def test_moved_container_stays_owned_and_a_copied_one_does_not() -> None:
    document = Document({"a": {"x": 1}})
    document.patch([{"op": "add", "path": "/a/y", "value": 2}])
    ours = document._value["a"]
    document.patch([{"op": "move", "from": "/a", "path": "/b"}])
    document.patch([{"op": "add", "path": "/b/z", "value": 3}])
    assert document._value["b"] is ours
    document.patch([{"op": "copy", "from": "/b", "path": "/c"}])
    document.patch([{"op": "add", "path": "/b/w", "value": 4}])
    assert document.read() == {"b": {"x": 1, "y": 2, "z": 3, "w": 4}, "c": {"x": 1, "y": 2, "z": 3}}


def test_copy_of_the_whole_document_into_itself() -> None:
    document = Document({"a": 1})
    document.patch([{"op": "add", "path": "/b", "value": 2}])
    document.patch([{"op": "copy", "from": "", "path": "/c"}])
    document.patch([{"op": "add", "path": "/c/d", "value": 3}])
    assert document.read() == {"a": 1, "b": 2, "c": {"a": 1, "b": 2, "d": 3}}


WHOLE = '{"a": 1, "b": {"x": 0, "y": 2}, "c": [1, [2], 3]}'


@pytest.mark.parametrize(
    "patch",
    [
        [
            {"op": "remove", "path": "/a"},
            {"op": "remove", "path": "/b/x"},
            {"op": "copy", "from": "/b", "path": "/d"},
            {"op": "add", "path": "/b/x", "value": 7},
            {"op": "move", "from": "/b", "path": "/c"},
        ],
        [{"op": "add", "path": "/c/1", "value": 0}, {"op": "add", "path": "/c/-", "value": 0}],
        [{"op": "remove", "path": "/c/0"}, {"op": "replace", "path": "/c/0/0", "value": 0}],
        [{"op": "move", "from": "/c/1", "path": "/b/x"}, {"op": "add", "path": "/e", "value": 0}],
        [{"op": "remove", "path": ""}, {"op": "add", "path": "", "value": {"a": 2}}],
    ],
    ids=["members", "elements added", "elements removed", "moved", "whole"],
)
def test_failed_patch_leaves_no_trace_in_what_is_owned(patch: list[dict[str, Any]]) -> None:
    document = Document(json.loads(WHOLE))
    for pointer in ("/b/x", "/c/0", "/c/1/0"):
        value = document._find([str(token) for token in pointer.split("/")[1:]])
        document.patch([{"op": "replace", "path": pointer, "value": value}])
    with pytest.raises(PatchError):
        document.patch([*patch, {"op": "test", "path": "/a", "value": "other"}])
    assert json.dumps(document.read()) == WHOLE


def test_failed_move_leaves_ownership_as_it_was() -> None:
    document = Document({"from": {"it": {}}, "to": {}})
    document.patch([{"op": "add", "path": "/from/it/n", "value": 1}])
    document.patch([{"op": "add", "path": "/to/m", "value": 1}])
    with pytest.raises(PatchError):
        document.patch(
            [
                {"op": "move", "from": "/from/it", "path": "/to/it"},
                {"op": "remove", "path": "/no"},
            ]
        )
    document.patch([{"op": "copy", "from": "/from/it", "path": "/to/it"}])
    document.patch([{"op": "add", "path": "/to/it/n", "value": 2}])
    assert document.read() == {"from": {"it": {"n": 1}}, "to": {"m": 1, "it": {"n": 2}}}


def test_object_only() -> None:
    document = Document({"a": 1}, object_only=True)
    with pytest.raises(PatchError, match="no object"):
        document.patch([{"op": "remove", "path": "/a"}, {"op": "remove", "path": ""}])
    document.patch([{"op": "replace", "path": "", "value": {"b": 2}}])
    assert document.read() == {"b": 2}


def test_depth_and_doubling_are_no_trouble() -> None:
    deep: Any = []
    for _ in range(20_000):
        deep = [deep]
    path = "/0" * 19_999
    patched = apply_patch(deep, [{"op": "test", "path": "", "value": deep}])
    patched = apply_patch(patched, [{"op": "add", "path": path + "/-", "value": 1}])
    inner = patched
    for _ in range(19_999):
        inner = inner[0]
    assert inner == [[], 1]
    # Each operation doubles the JSON text; shared, it costs nothing.
    apply_patch({"a": 1}, [{"op": "copy", "from": "", "path": "/b"}] * 200)


KEYS = ["", "a", "b", "0", "1", "~", "/", "~1"]
SCALARS = st.sampled_from([None, True, False, 0, 1, 1.0, -1, "", "a", 0.5])
JSON = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner),
    max_leaves=8,
)
TOKENS = st.sampled_from([*KEYS, "2", "-", "01", "\u0661"])


def pointers(value: Any, path: str = "") -> list[str]:
    found = [path]
    if isinstance(value, dict):
        for key, item in value.items():
            found += pointers(item, path + "/" + jsonpointer.escape(key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            found += pointers(item, f"{path}/{index}")
    return found


@st.composite
def patches(draw: st.DrawFn, document: Any, max_size: int = 5) -> list[dict[str, Any]]:
    there = st.sampled_from(pointers(document))
    near = st.builds(lambda path, token: f"{path}/{jsonpointer.escape(token)}", there, TOKENS)
    path = there | near
    operation = st.one_of(
        st.fixed_dictionaries(
            {"op": st.sampled_from(["add", "replace", "test"]), "path": path, "value": JSON}
        ),
        st.fixed_dictionaries({"op": st.just("remove"), "path": path}),
        st.fixed_dictionaries(
            {"op": st.sampled_from(["move", "copy"]), "from": path, "path": path}
        ),
    )
    return draw(st.lists(operation, max_size=max_size))


def outcome(document: Any, patch: list[dict[str, Any]]) -> tuple[Any, ...]:
    try:
        return ("result", apply_patch(document, patch))
    except PatchError as error:
        return ("error", error.index)


def peer_outcome(document: Any, operation: dict[str, Any]) -> tuple[Any, ...]:
    try:
        return ("result", jsonpatch.apply_patch(document, cast(Any, [copy.deepcopy(operation)])))
    except (jsonpatch.JsonPatchException, jsonpointer.JsonPointerException):
        return ("error", 0)


def parent_of(document: Any, pointer: str) -> Any:
    """The value one step above a pointer; None where there is none, or it is null."""
    for part in jsonpointer.JsonPointer(pointer).parts[:-1]:
        if isinstance(document, dict) and part in document:
            document = document[part]
        elif isinstance(document, list) and part.isascii() and part.isdigit():
            document = document[int(part)] if int(part) < len(document) else None
        else:
            return None
    return document if pointer else None


def ends(operation: dict[str, Any]) -> list[str]:
    return [operation[name] for name in ("path", "from") if name in operation]


# Where jsonpatch 1.46 to 1.48 and RFC 6902 part: what it does, when, and an example.
KNOWN_DIFFERENCES: dict[str, tuple[Callable[[Any, dict[str, Any]], bool], Any, dict[str, Any]]] = {
    "cannot remove the whole document": (
        lambda doc, op: op["op"] == "remove" and op["path"] == "",
        {},
        {"op": "remove", "path": ""},
    ),
}


@pytest.mark.parametrize("name", KNOWN_DIFFERENCES)
def test_known_difference_is_one(name: str) -> None:
    differs, document, operation = KNOWN_DIFFERENCES[name]
    assert differs(document, operation)
    try:
        theirs = peer_outcome(document, operation)
    except Exception as error:  # what the peer raises here is not one of its own errors
        theirs = ("crash", type(error))
    assert theirs != outcome(document, [operation])


@given(st.data())
def test_against_jsonpatch_one_operation_at_a_time(data: st.DataObject) -> None:
    document = data.draw(JSON)
    patch = data.draw(patches(document))
    before = json.dumps([document, patch])
    expected: tuple[Any, ...] = ("result", document)
    for index, operation in enumerate(patch):
        current = expected[1]
        ours = outcome(current, [operation])
        if not any(row[0](current, operation) for row in KNOWN_DIFFERENCES.values()):
            theirs = peer_outcome(current, operation)
            assert json.dumps(ours, sort_keys=True) == json.dumps(theirs, sort_keys=True)
        expected = ours if ours[0] == "result" else ("error", index)
        if expected[0] == "error":
            break
    # A patch is its operations one after the other, and all or nothing.
    whole = outcome(document, patch)
    assert json.dumps(whole, sort_keys=True) == json.dumps(expected, sort_keys=True)
    assert json.dumps([document, patch]) == before


@given(st.data())
def test_nothing_handed_over_or_handed_out_ever_changes(data: st.DataObject) -> None:
    start = data.draw(JSON)
    document = Document(start)
    model = copy.deepcopy(start)
    held: list[tuple[Any, str]] = [(start, json.dumps(start))]
    for _ in range(data.draw(st.integers(1, 6))):
        patch = data.draw(patches(model, max_size=4))
        held.append((patch, json.dumps(patch)))
        expected = outcome(copy.deepcopy(model), copy.deepcopy(patch))
        if expected[0] == "error":
            with pytest.raises(PatchError) as failure:
                document.patch(patch)
            assert failure.value.index == expected[1]
            # Looked at without `read`, so that what is owned stays owned.
            assert json.dumps(document._value) == json.dumps(model)
        else:
            document.patch(patch)
            assert json.dumps(document._value, sort_keys=True) == json.dumps(
                expected[1], sort_keys=True
            )
            model = copy.deepcopy(document._value)
        if data.draw(st.booleans()):
            value = document.read()
            held.append((value, json.dumps(value)))
        for value, text in held:
            assert json.dumps(value) == text
