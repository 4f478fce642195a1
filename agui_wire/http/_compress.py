"""Compressed event streams: each write leaves whole, and an idle stream can show life."""

from __future__ import annotations

import re
import sys
import zlib
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal, Protocol

__all__ = [
    "CODINGS",
    "Compression",
    "Compressor",
    "acceptable_codings",
    "choose_coding",
    "compressor",
]

if TYPE_CHECKING:
    zstd: Any
elif sys.version_info >= (3, 14):
    try:
        from compression import zstd
    except ImportError:  # pragma: no cover - depends on how Python was built
        zstd = None
else:
    try:
        from backports import zstd
    except ImportError:
        zstd = None

Compression = Literal["gzip", "zstd", "auto"]

CODINGS = {None: (), "gzip": ("gzip",), "zstd": ("zstd",), "auto": ("zstd", "gzip")}
"""Content codings by the value of a `compression` option, the best first."""

# RFC 9110 section 12.5.3: codings with an optional weight.
_MEMBER = re.compile(
    r"[ \t]*([!#$%&'*+\-.^_`|~0-9A-Za-z]+)"
    r"[ \t]*(?:;[ \t]*q=(0(?:\.[0-9]{0,3})?|1(?:\.0{0,3})?)[ \t]*)?",
    re.IGNORECASE,
)

# A stream's own memory: 8 KiB of history and small tables, about 100 KiB with zlib.
_GZIP_WINDOW_BITS = 16 + 13
_GZIP_MEMORY_LEVEL = 7
_GZIP_LEVEL = 4
_ZSTD_WINDOW_LOG = 16
_ZSTD_LEVEL = 1


class Compressor(Protocol):
    """One compressed body on its way out."""

    def write(self, data: bytes) -> bytes:
        """The bytes that bring all of `data` to the reader now."""
        ...

    def heartbeat(self) -> bytes:
        """Bytes that decompress to nothing."""
        ...

    def finish(self) -> bytes:
        """The end of the body."""
        ...


class _Gzip:
    def __init__(self) -> None:
        self._deflate = zlib.compressobj(
            _GZIP_LEVEL, zlib.DEFLATED, _GZIP_WINDOW_BITS, _GZIP_MEMORY_LEVEL
        )
        self._begun = False

    def write(self, data: bytes) -> bytes:
        self._begun = True
        return self._deflate.compress(data) + self._deflate.flush(zlib.Z_SYNC_FLUSH)

    def heartbeat(self) -> bytes:
        if not self._begun:
            return self.write(b"")
        # zlib does not repeat an empty flush. What it flushed ends on a byte, and there an
        # empty stored block (RFC 1951 section 3.2.4) may stand.
        return b"\x00\x00\x00\xff\xff"

    def finish(self) -> bytes:
        return self._deflate.flush(zlib.Z_FINISH)


class _Zstd:
    def __init__(self) -> None:
        self._compressor = _zstd_compressor()
        self._written = False
        self._head_sent = False

    def write(self, data: bytes) -> bytes:
        framed: bytes = self._compressor.compress(data, mode=self._compressor.FLUSH_BLOCK)
        return self._without_sent_head(framed)

    def heartbeat(self) -> bytes:
        # An empty raw block (RFC 8878 section 3.1.1.2), behind a frame header where none was sent:
        # the library writes that only with the first data.
        head = b"" if self._written or self._head_sent else _zstd_head()
        self._head_sent = True
        return head + b"\x00\x00\x00"

    def finish(self) -> bytes:
        end: bytes = self._compressor.flush()
        if self._head_sent and not self._written:
            return b"\x01\x00\x00"
        return self._without_sent_head(end)

    def _without_sent_head(self, framed: bytes) -> bytes:
        if framed and not self._written:
            self._written = True
            if self._head_sent:
                return framed[len(_zstd_head()) :]
        return framed


def _zstd_compressor() -> Any:
    parameters = zstd.CompressionParameter
    return zstd.ZstdCompressor(
        options={
            parameters.compression_level: _ZSTD_LEVEL,
            parameters.window_log: _ZSTD_WINDOW_LOG,
        }
    )


@lru_cache(maxsize=1)
def _zstd_head() -> bytes:
    """The frame header that every compressor of ours writes: magic, descriptor, window."""
    probe = _zstd_compressor()
    return bytes(probe.compress(b"x", mode=probe.FLUSH_BLOCK)[:6])


_COMPRESSORS: dict[str, type[_Gzip] | type[_Zstd]] = {"gzip": _Gzip, "zstd": _Zstd}


def acceptable_codings(compression: str | None) -> tuple[str, ...]:
    """The content codings that a `compression` option stands for, the best first.

    "auto" leaves out zstd where its library is missing. Raises ImportError where "zstd" itself
    lacks it, ValueError for a value that is none of None, "gzip", "zstd", "auto".
    """
    if compression not in CODINGS:
        raise ValueError(f"compression is one of {tuple(CODINGS)}, not {compression!r}")
    if zstd is not None:
        return CODINGS[compression]
    if compression == "zstd":
        raise ImportError("compression='zstd' needs its library: pip install 'agui-wire[zstd]'")
    return tuple(coding for coding in CODINGS[compression] if coding != "zstd")


def choose_coding(accept_encoding: str, compression: str | None) -> str | None:
    """The coding of a response (RFC 9110 section 12.5.3), or None for an uncompressed one.

    Of the codings that `compression` admits, the one with the greatest weight in the request's
    Accept-Encoding; the earlier at equal weights. Raises as `acceptable_codings`.
    """
    candidates = acceptable_codings(compression)
    weights: dict[str, float] = {}
    for member in accept_encoding.split(",") if candidates else ():
        match = _MEMBER.fullmatch(member)
        if match is not None:
            weights[match[1].lower()] = float(match[2] or 1)
    weight = {coding: weights.get(coding, weights.get("*", 0.0)) for coding in candidates}
    best = max(candidates, key=weight.__getitem__, default=None)
    return best if best is not None and weight[best] > 0 else None


def compressor(coding: str) -> Compressor:
    """A new body in `coding`, "gzip" or "zstd"."""
    return _COMPRESSORS[coding]()
