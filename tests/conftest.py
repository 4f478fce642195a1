"""Fixtures that every test may use."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from agui_wire import encoder
from agui_wire.codecs import native
from tests.interop.peer import peer

__all__ = ["peer"]

HERE = Path(__file__).resolve().parent
SHARED = HERE.parent / ".." / "shared"

ENGINES = ("native", "reference") if native.load() else ("reference",)

settings.register_profile("default", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else "default")


def wire_vectors(name: str) -> list[dict[str, Any]]:
    """The vectors in tests/vectors/wire/`name`, for parametrising."""
    text = (HERE / "vectors" / "wire" / name).read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder `shared` beside the checkout, or a skip where there is none."""
    if not SHARED.is_dir():
        pytest.skip("needs the folder `shared` beside the checkout")
    return SHARED


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The protobuf engines that are available, one test run each.

    Only for what a test makes itself: encoders and decoders keep the engine they were made with.
    """
    name: str = request.param
    if name == "reference":
        monkeypatch.setattr(native, "load", lambda: None)
    encoder._native_methods.cache_clear()
    yield name
    encoder._native_methods.cache_clear()
