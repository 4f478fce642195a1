"""What every Struct of the model shares: field types, limits and the meaning of "absent"."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, TypeVar, Union

import msgspec

MAX_SAFE_INTEGER = 2**53 - 1
"""The largest integer that a double, and so a JavaScript number, counts exactly."""

SafeInt = Annotated[int, msgspec.Meta(ge=-MAX_SAFE_INTEGER, le=MAX_SAFE_INTEGER)]
TokenCount = Annotated[int, msgspec.Meta(ge=0, le=MAX_SAFE_INTEGER)]

T = TypeVar("T")

if TYPE_CHECKING:
    Absent = Union[T, None]
    JsonValue = Any
else:

    class Absent:
        """An optional field: `T | None` to a type checker, only `T` to msgspec.

        The protocol knows absent keys, never null, in an optional place. Absence reads as None,
        and the strict decode refuses a null, which sends the event down the tolerant path.
        """

        def __class_getitem__(cls, item: Any) -> Any:
            return item

    # Any JSON value but null, for optional open fields.
    JsonValue = Union[bool, int, float, str, list[Any], dict[str, Any]]

Metadata = dict[str, Any]


class Model(
    msgspec.Struct,
    kw_only=True,
    omit_defaults=True,
    forbid_unknown_fields=True,
    rename="camel",
):
    """The base of every Struct: snake_case here, camelCase on the wire, absent keys absent."""
