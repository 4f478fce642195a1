"""The built page and a browser, or a skip where something is missing."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from .webdriver import Browser, chromium

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "browser"


@pytest.fixture(scope="session")
def built() -> Path:
    """The example's folder, built and type-checked."""
    npm = shutil.which("npm")
    if npm is None or not (EXAMPLE / "node_modules" / "esbuild").is_dir():
        pytest.skip("needs Node.js and `npm install` in examples/browser")
    for script in ("check", "build"):
        done = subprocess.run(
            [npm, "run", "--silent", script], cwd=EXAMPLE, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stdout + done.stderr
    return EXAMPLE


@pytest.fixture(scope="session")
def browser(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    driver = shutil.which("chromedriver")
    if driver is None:
        pytest.skip("needs Chromium and chromedriver")
    with chromium(driver, tmp_path_factory.mktemp("chromium")) as browser:
        yield browser
