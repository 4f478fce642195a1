"""Which engine runs is never left to chance."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from agui_wire import protobuf_engine


def test_the_engine_that_was_asked_for() -> None:
    if os.environ.get("AGUI_WIRE_PURE") == "1":
        assert protobuf_engine() == "reference"
    elif os.environ.get("AGUI_WIRE_REQUIRE_NATIVE") == "1":
        assert protobuf_engine() == "native"
    else:
        pytest.skip("neither AGUI_WIRE_PURE nor AGUI_WIRE_REQUIRE_NATIVE is set to 1")


def test_the_pure_engine_can_be_forced() -> None:
    program = "import agui_wire; print(agui_wire.protobuf_engine())"
    result = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "AGUI_WIRE_PURE": "1"},
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    assert result.stdout.strip() == "reference"
