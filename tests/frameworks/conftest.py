"""A job of its own: python -m pytest tests/frameworks"""

from __future__ import annotations

from pathlib import Path

import pytest


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leaves these tests out where they were not asked for by name."""
    asked = any("frameworks" in argument for argument in config.args)
    return None if asked else True
