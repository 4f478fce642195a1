"""The command line in this process, with standard error apart from standard output."""

from __future__ import annotations

import inspect
from typing import Any

from click.testing import CliRunner

__all__ = ["click_runner"]


def click_runner() -> CliRunner:
    """A runner; before click 8.2, standard error has to be asked for."""
    mixed = "mix_stderr" in inspect.signature(CliRunner).parameters
    options: dict[str, Any] = {"mix_stderr": False} if mixed else {}
    return CliRunner(**options)
