"""JSON Patch (RFC 6902) on values that somebody else may hold.

A patch copies what it must change and shares the rest. `Document` remembers which containers it
copied: while nobody else has seen them it changes them in place, so that a small patch costs the
same on a large value as on a small one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from operator import delitem, setitem
from reprlib import repr as shortened
from typing import Any

from ..errors import AguiWireError

__all__ = ["Document", "PatchError", "apply_patch"]

_BAD_ESCAPE = re.compile(r"~(?![01])")
_INDEX = re.compile(r"0|[1-9][0-9]*")
# No list is as long as that, and int() refuses digits without end.
_MAX_INDEX_DIGITS = 18

# Stands in the place of a removed member until the patch is through, so that a failing patch can
# put the member back where it was among the others.
_GONE: Any = object()


class PatchError(AguiWireError):
    """A patch that cannot be applied: operation `index`, counted from 0, failed for `reason`."""

    def __init__(self, index: int, reason: str) -> None:
        super().__init__(index, reason)
        self.index = index
        self.reason = reason

    def __str__(self) -> str:
        return f"patch operation {self.index} failed: {self.reason}"


class _Refused(Exception):
    """Why an operation cannot be applied."""


class _Owned:
    """A container that is a document's alone, and those of its children that are so too.

    The children go by `id`; that they are held here keeps each id from being used again.
    """

    __slots__ = ("children", "value")

    def __init__(self, value: Any) -> None:
        self.value = value
        self.children: dict[int, _Owned] = {}


def apply_patch(document: Any, operations: Sequence[Any]) -> Any:
    """`document` with the operations of a JSON Patch applied (RFC 6902).

    Neither argument is changed; the result shares with them what the patch does not touch.
    Raises PatchError where an operation is no operation or cannot be applied.
    """
    patched = Document(document)
    patched.patch(operations)
    return patched.read()


class Document:
    """A JSON value that patches change; `object_only` refuses to make anything but an object of it.

    What is given to it, by the constructor or in a patch, is never changed, nor is what `read`
    gave. A patch costs what its own operations and the containers along their paths cost, and
    those containers are copied only once after each `read`.
    """

    def __init__(self, value: Any, *, object_only: bool = False) -> None:
        self._value = value
        self._object_only = object_only
        # A tree from the root: what is owned lies in containers that are owned, in one place.
        self._owned: _Owned | None = None
        self._undo: list[tuple[Any, ...]] = []
        self._gone: list[tuple[dict[str, Any], str]] = []

    def read(self) -> Any:
        """The value as it is; later patches leave it alone."""
        self._owned = None
        return self._value

    def patch(self, operations: Sequence[Any]) -> None:
        """Apply all operations in order, or none: PatchError says which one failed and why."""
        index, operation = 0, None
        try:
            if not isinstance(operations, (list, tuple)):
                raise _Refused("a patch is a list of operations")
            for index, operation in enumerate(operations):  # noqa: B007 - for the error
                self._apply(operation)
            if self._object_only and not isinstance(self._value, dict):
                raise _Refused("the result is no object")
        except BaseException as error:
            for call, *arguments in reversed(self._undo):
                call(*arguments)
            if isinstance(error, _Refused):
                raise PatchError(index, f"{_describe(operation)}: {error}") from None
            raise
        else:
            for container, key in self._gone:
                if container.get(key) is _GONE:
                    del container[key]
        finally:
            self._undo.clear()
            self._gone.clear()

    def _apply(self, operation: Any) -> None:
        if not isinstance(operation, dict):
            raise _Refused("an operation is an object")
        name = operation.get("op")
        apply = _OPERATIONS.get(name) if isinstance(name, str) else None
        if apply is None:
            raise _Refused("there is no such operation")
        apply(self, operation, _tokens(operation, "path"))

    def _add(self, operation: dict[str, Any], tokens: list[str]) -> None:
        self._put(tokens, _value(operation), None)

    def _remove(self, operation: dict[str, Any], tokens: list[str]) -> None:
        self._take(tokens)

    def _replace(self, operation: dict[str, Any], tokens: list[str]) -> None:
        value = _value(operation)
        if not tokens:
            self._set_root(value, None)
            return
        _member(self._find(tokens[:-1]), tokens[-1])
        node = self._own(tokens[:-1])
        old = self._store(node.value, tokens[-1], value)
        self._release(node, old)

    def _move(self, operation: dict[str, Any], tokens: list[str]) -> None:
        source = _tokens(operation, "from")
        if source == tokens:
            self._find(source)
        elif tokens[: len(source)] == source:
            raise _Refused("a value cannot move into itself")
        else:
            self._put(tokens, *self._take(source))

    def _copy(self, operation: dict[str, Any], tokens: list[str]) -> None:
        source = _tokens(operation, "from")
        value = self._find(source)
        self._share(source, value)
        self._put(tokens, value, None)

    def _test(self, operation: dict[str, Any], tokens: list[str]) -> None:
        if not _equal(self._find(tokens), _value(operation), bool(self._gone)):
            raise _Refused("the value there is another")

    def _find(self, tokens: list[str]) -> Any:
        value = self._value
        for token in tokens:
            value = _member(value, token)
        return value

    def _put(self, tokens: list[str], value: Any, part: _Owned | None) -> None:
        """Add a value; `part` is what is owned of it."""
        if not tokens:
            self._set_root(value, part)
            return
        *parents, last = tokens
        found = self._find(parents)
        if isinstance(found, list):
            at = len(found) if last == "-" else _index(last, len(found) + 1)
            node = self._own(parents)
            node.value.insert(at, value)
            self._undo.append((delitem, node.value, at))
        elif isinstance(found, dict):
            node = self._own(parents)
            if last in node.value:
                self._release(node, self._store(node.value, last, value))
            else:
                node.value[last] = value
                self._undo.append((delitem, node.value, last))
        else:
            raise _Refused("the target is in no object or array")
        if part is not None:
            self._adopt(node, part)

    def _take(self, tokens: list[str]) -> tuple[Any, _Owned | None]:
        """Remove a value; with it comes what is owned of it."""
        if not tokens:
            value, part = self._value, self._owned
            self._set_root(None, None)
            return value, part
        *parents, last = tokens
        _member(self._find(parents), last)
        node = self._own(parents)
        container = node.value
        if isinstance(container, list):
            value = container.pop(int(last))
            self._undo.append((container.insert, int(last), value))
        else:
            value = self._store(container, last, _GONE)
            self._gone.append((container, last))
        return value, self._release(node, value)

    def _own(self, tokens: list[str]) -> _Owned:
        """The container at a path that exists, after copying what is not yet owned on the way."""
        node = self._owned
        if node is None:
            node = _Owned(self._copied(self._value))
            self._set_root(node.value, node)
        for token in tokens:
            child = _member(node.value, token)
            below = node.children.get(id(child))
            if below is None:
                below = _Owned(self._copied(child))
                self._store(node.value, token, below.value)
                self._adopt(node, below)
            node = below
        return node

    def _copied(self, container: Any) -> Any:
        if isinstance(container, list):
            return list(container)
        if self._gone:
            return {key: value for key, value in container.items() if value is not _GONE}
        return dict(container)

    def _store(self, container: Any, token: str, value: Any) -> Any:
        """Put a value over another one, which is returned."""
        key: Any = int(token) if isinstance(container, list) else token
        old = container[key]
        container[key] = value
        self._undo.append((setitem, container, key, old))
        return old

    def _adopt(self, node: _Owned, part: _Owned) -> None:
        node.children[id(part.value)] = part
        self._undo.append((delitem, node.children, id(part.value)))

    def _release(self, node: _Owned, child: Any) -> _Owned | None:
        part = node.children.pop(id(child), None)
        if part is not None:
            self._undo.append((setitem, node.children, id(child), part))
        return part

    def _share(self, tokens: list[str], value: Any) -> None:
        """Own a value, which is about to be in two places, no longer."""
        node = self._owned
        if not tokens:
            self._set_root(value, None)
            return
        for token in tokens[:-1]:
            if node is None:
                return
            node = node.children.get(id(_member(node.value, token)))
        if node is not None:
            self._release(node, value)

    def _set_root(self, value: Any, owned: _Owned | None) -> None:
        self._undo.append((self._restore_root, self._value, self._owned))
        self._restore_root(value, owned)

    def _restore_root(self, value: Any, owned: _Owned | None) -> None:
        self._value = value
        self._owned = owned


_OPERATIONS: dict[str, Callable[[Document, dict[str, Any], list[str]], None]] = {
    "add": Document._add,
    "remove": Document._remove,
    "replace": Document._replace,
    "move": Document._move,
    "copy": Document._copy,
    "test": Document._test,
}


def _describe(operation: Any) -> str:
    members = operation if isinstance(operation, dict) else {}
    name, path = members.get("op"), members.get("path")
    where = f" at {shortened(path)}" if isinstance(path, str) else ""
    return (shortened(name) if isinstance(name, str) else "no operation") + where


def _tokens(operation: dict[str, Any], name: str) -> list[str]:
    """The reference tokens of a JSON Pointer (RFC 6901)."""
    pointer = operation.get(name)
    if not isinstance(pointer, str) or (pointer and not pointer.startswith("/")):
        raise _Refused(f"`{name}` is no JSON Pointer")
    tokens = pointer.split("/")[1:]
    if "~" not in pointer:
        return tokens
    if _BAD_ESCAPE.search(pointer):
        raise _Refused(f"`{name}` has a ~ that is neither ~0 nor ~1")
    return [token.replace("~1", "/").replace("~0", "~") for token in tokens]


def _value(operation: dict[str, Any]) -> Any:
    if "value" not in operation:
        raise _Refused("the operation needs `value`")
    return operation["value"]


def _member(container: Any, token: str) -> Any:
    if isinstance(container, dict):
        member = container.get(token, _GONE)
        if member is _GONE:
            raise _Refused(f"there is no member {shortened(token)}")
        return member
    if isinstance(container, list):
        return container[_index(token, len(container))]
    raise _Refused(f"{shortened(token)} is looked for in what is no object or array")


def _index(token: str, limit: int) -> int:
    if not _INDEX.fullmatch(token):
        raise _Refused(f"{shortened(token)} is no array index")
    if len(token) > _MAX_INDEX_DIGITS or int(token) >= limit:
        raise _Refused(f"the array index {shortened(token)} is past the end")
    return int(token)


def _equal(found: Any, wanted: Any, skip_gone: bool) -> bool:
    """Equality of JSON values (RFC 6902 section 4.6): 1 is 1.0, true is not 1. Never recurses."""
    pairs = [(found, wanted)]
    while pairs:
        one, other = pairs.pop()
        if isinstance(one, dict):
            if skip_gone:
                one = {key: value for key, value in one.items() if value is not _GONE}
            if not isinstance(other, dict) or one.keys() != other.keys():
                return False
            pairs.extend((value, other[key]) for key, value in one.items())
        elif isinstance(one, list):
            if not isinstance(other, list) or len(one) != len(other):
                return False
            pairs.extend(zip(one, other))
        elif isinstance(one, bool) != isinstance(other, bool) or one != other:
            return False
    return True
