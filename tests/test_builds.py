"""What is built and installed: with a compiler, without one, and pure.

Builds wheels with pip in a virtual environment of its own, which takes minutes and a package
index: run with `pytest -m slow`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from pathlib import Path

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

ROOT = Path(__file__).resolve().parents[1]
NATIVE = "agui_wire/codecs/native"
FOLDERS = ("agui_wire", "proto")
FILES = ("setup.py", "pyproject.toml", "MANIFEST.in", "README.md", "LICENSE")
NEEDED = ("pip", "setuptools>=77", "cython>=3.1", "msgspec", "protobuf")

ENGINE = "import agui_wire; print(agui_wire.protobuf_engine())"

Result = subprocess.CompletedProcess[str]


def run(*command: str | Path, cwd: Path, **environment: str) -> Result:
    kept = {key: value for key, value in os.environ.items() if not key.startswith("AGUI_WIRE_")}
    kept.pop("PYTHONPATH", None)
    return subprocess.run(
        [str(word) for word in command],
        cwd=cwd,
        env={**kept, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
    )


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An interpreter that has what a build and an import need, and nothing else."""
    place = tmp_path_factory.mktemp("venv")
    made = run(sys.executable, "-m", "venv", place, cwd=place)
    if made.returncode:
        pytest.skip(f"no virtual environment: {made.stdout}")
    found = place / ("Scripts" if os.name == "nt" else "bin") / "python"
    installed = run(found, "-m", "pip", "install", "-q", "-U", *NEEDED, cwd=place)
    if installed.returncode:
        pytest.skip(f"no package index: {installed.stdout}")
    return found


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """The project as it is checked out, without what was built in place."""
    place = tmp_path / "source"
    built = shutil.ignore_patterns("*.so", "*.pyd", "engine.c", "__pycache__")
    for folder in FOLDERS:
        shutil.copytree(ROOT / folder, place / folder, ignore=built)
    for name in FILES:
        shutil.copy(ROOT / name, place)
    return place


def build(python: Path, source: Path, **environment: str) -> tuple[Result, Path | None]:
    """A wheel, where one could be built, and what pip and the build said."""
    place = source.parent / "wheels"
    command = ("-m", "pip", "wheel", "-v", "--no-deps", "--no-build-isolation", "-w", place)
    result = run(python, *command, source, cwd=source.parent, **environment)
    return result, next(place.glob("*.whl"), None) if place.exists() else None


def engine_of(python: Path, wheel: Path, **environment: str) -> str:
    """Which engine runs where the wheel is installed."""
    place = wheel.parent / "installed"
    installed = run(
        python, "-m", "pip", "install", "--no-deps", "--target", place, wheel, cwd=wheel.parent
    )
    assert installed.returncode == 0, installed.stdout
    result = run(python, "-c", ENGINE, cwd=wheel.parent, PYTHONPATH=str(place), **environment)
    return result.stdout.strip()


def without_compiler(python: Path) -> dict[str, str]:
    return {"PATH": str(python.parent), "CC": "/nonexistent/cc", "CXX": "/nonexistent/c++"}


free_threaded = pytest.mark.skipif(
    bool(sysconfig.get_config_var("Py_GIL_DISABLED")), reason="no native engine without the GIL"
)


@free_threaded
def test_a_source_distribution_builds_the_native_engine(python: Path, source: Path) -> None:
    made = run(python, "setup.py", "-q", "sdist", cwd=source)
    assert made.returncode == 0, made.stdout
    (archive,) = (source / "dist").glob("*.tar.gz")
    with tarfile.open(archive) as opened:
        names = {name.partition("/")[2] for name in opened.getnames()}
    wanted = {
        path.relative_to(source).as_posix()
        for folder in (NATIVE, "proto")
        for path in (source / folder).rglob("*")
        if path.is_file()
    }
    assert {name.rpartition(".")[2] for name in wanted} >= {"pyx", "pxi", "h", "pyi", "py", "proto"}
    assert wanted <= names
    assert not [name for name in names if name.endswith((".c", ".so", ".pyd"))]

    result, wheel = build(python, archive, AGUI_WIRE_REQUIRE_NATIVE="1")
    assert wheel is not None, result.stdout
    assert not wheel.name.endswith("-none-any.whl")
    assert not [name for name in zipfile.ZipFile(wheel).namelist() if name.endswith(".c")]
    assert engine_of(python, wheel) == "native"
    assert engine_of(python, wheel, AGUI_WIRE_PURE="1") == "reference"


@free_threaded
def test_without_a_compiler_the_pure_engine_is_installed(python: Path, source: Path) -> None:
    result, wheel = build(python, source, **without_compiler(python))
    assert wheel is not None, result.stdout
    assert "the native engine was not built" in result.stdout
    assert engine_of(python, wheel) == "reference"


@free_threaded
def test_without_a_compiler_a_build_that_requires_it_fails(python: Path, source: Path) -> None:
    environment = {**without_compiler(python), "AGUI_WIRE_REQUIRE_NATIVE": "1"}
    result, wheel = build(python, source, **environment)
    assert result.returncode != 0
    assert wheel is None


def test_a_pure_wheel_runs_anywhere(python: Path, source: Path) -> None:
    result, wheel = build(python, source, AGUI_WIRE_PURE="1")
    assert wheel is not None, result.stdout
    assert wheel.name.endswith("-py3-none-any.whl")
    assert engine_of(python, wheel) == "reference"


def test_a_pure_wheel_cannot_require_the_native_engine(python: Path, source: Path) -> None:
    result, wheel = build(python, source, AGUI_WIRE_PURE="1", AGUI_WIRE_REQUIRE_NATIVE="1")
    assert "AGUI_WIRE_REQUIRE_NATIVE=1" in result.stdout
    assert wheel is None
