"""Text that grows by deltas: appended to a list, joined when it is read."""

from __future__ import annotations

from collections.abc import Callable

__all__ = ["TextBuffer"]

Warn = Callable[[str, str, str], None]

_REPLACEMENT = "\ufffd"


class TextBuffer:
    """The text of one message or one call's arguments; `append` takes a delta.

    Half a surrogate pair at the end of one delta joins the other half at the start of the next
    (protocol page "wire"); one that stays alone reads as U+FFFD.
    """

    __slots__ = ("_deltas", "_half", "_text", "append")

    def __init__(self, text: str = "") -> None:
        self._deltas = [text] if text else []
        self._text = ""
        self._half = ""
        self.append = self._deltas.append

    def read(self, warn: Warn) -> str:
        """The text so far. A half at its very end may still find its partner: no warning yet."""
        if self._deltas:
            fresh = self._half + "".join(self._deltas)
            self._deltas.clear()
            self._half = ""
            if not fresh.isascii():
                fresh = self._mended(fresh, warn)
            self._text += fresh
        return self._text + _REPLACEMENT if self._half else self._text

    def finish(self, warn: Warn) -> str:
        """The text at the end of its message, where a half that is left over is told."""
        text = self.read(warn)
        if self._half:
            _warn_alone(warn)
        return text

    def _mended(self, fresh: str, warn: Warn) -> str:
        try:
            fresh.encode()
        except UnicodeEncodeError:
            pass
        else:
            return fresh
        if "\ud800" <= fresh[-1] <= "\udbff":
            self._half = fresh[-1]
            fresh = fresh[:-1]
        # UTF-16 joins halves that stand side by side; a U+FFFD that was there already is no loss.
        joined = fresh.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        if joined.count(_REPLACEMENT) > fresh.count(_REPLACEMENT):
            _warn_alone(warn)
        return joined


def _warn_alone(warn: Warn) -> None:
    warn("surrogate", "/delta", "read half a surrogate pair as U+FFFD")
