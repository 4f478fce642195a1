"""The sdist and the wheels: what is in them, what they say of themselves, and that they work.

A job of its own, `python -m pytest -m slow tests/test_packages.py`, about two minutes long. It
needs a compiler, and the package index for what a build requires.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
import venv
from email.message import Message
from email.parser import Parser
from pathlib import Path, PurePosixPath
from typing import NamedTuple
from zipfile import ZipFile

import pytest

import agui_wire

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]

ROOT = Path(__file__).resolve().parents[1]
WHEELS = ("native", "pure")
EXTENSION = re.compile(r"agui_wire/codecs/native/engine\.[^/]+\.(so|pyd)")

# Files of the package that are no Python source.
DATA = {
    "agui_wire/bench/worker.mjs",
    "agui_wire/codecs/native/engine.pyi",
    "agui_wire/codecs/protobuf/schema.binpb",
    "agui_wire/py.typed",
    "agui_wire/recordings/README.md",
    "agui_wire/recordings/pydantic_ai.jsonl",
}


# What work in a checkout leaves there.
NOT_SOURCES = (
    *(".git", ".venv*", ".nox", ".*_cache", ".hypothesis", ".benchmarks", "node_modules"),
    *("build", "dist", "*.egg-info", "__pycache__", "*.so", "*.pyd", "engine.c"),
)


class Built(NamedTuple):
    """The packages, built the way a release builds them, and the sdist unpacked."""

    sdist: Path
    unpacked: Path
    native: Path
    pure: Path

    def wheel(self, kind: str) -> Path:
        path: Path = getattr(self, kind)
        return path

    def files(self, kind: str) -> set[str]:
        """The files in a wheel."""
        with ZipFile(self.wheel(kind)) as wheel:
            return {name for name in wheel.namelist() if not name.endswith("/")}

    def metadata(self, kind: str, name: str = "METADATA") -> Message:
        (path,) = [each for each in self.files(kind) if each.endswith(f".dist-info/{name}")]
        with ZipFile(self.wheel(kind)) as wheel:
            return Parser().parsestr(wheel.read(path).decode())


def run(*command: str | Path, cwd: Path, **environment: str) -> str:
    """The standard output of a command that has to succeed."""
    result = subprocess.run(
        command, cwd=cwd, env=os.environ | environment, capture_output=True, text=True
    )
    assert result.returncode == 0, result.stdout[-4000:] + result.stderr[-4000:]
    return result.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    """The sdist of a clean copy of this checkout, and both wheels out of that sdist."""
    folder = tmp_path_factory.mktemp("packages")
    left_out = shutil.ignore_patterns(*NOT_SOURCES)
    checkout = shutil.copytree(ROOT, folder / "checkout", ignore=left_out)
    build = (sys.executable, "-m", "build", "--outdir", folder / "dist")
    run(*build, cwd=checkout, AGUI_WIRE_REQUIRE_NATIVE="1")
    (native,) = (folder / "dist").glob("*.whl")
    (sdist,) = (folder / "dist").glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        archive.extractall(folder)
    unpacked = folder / sdist.name.removesuffix(".tar.gz")
    run(*build, "--wheel", cwd=unpacked, AGUI_WIRE_PURE="1", AGUI_WIRE_REQUIRE_NATIVE="0")
    (pure,) = (folder / "dist").glob("*-none-any.whl")
    return Built(sdist, unpacked, native, pure)


def test_the_sdist_holds_what_the_repository_holds(built: Built) -> None:
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    if tracked.returncode:
        pytest.skip("needs a git checkout")
    with tarfile.open(built.sdist) as sdist:
        paths = [PurePosixPath(member.name) for member in sdist if member.isfile()]
    packed = {str(path.relative_to(path.parts[0])) for path in paths}
    expected = {name for name in tracked.stdout.splitlines() if (ROOT / name).exists()}
    hidden = {name for name in expected if PurePosixPath(name).parts[0].startswith(".")}
    generated = {name for name in packed if name.startswith("agui_wire.egg-info/")}
    assert packed - generated - {"PKG-INFO", "setup.cfg"} == expected - hidden


@pytest.mark.parametrize("kind", WHEELS)
def test_a_wheel_holds_what_runs_and_nothing_else(built: Built, kind: str) -> None:
    files = built.files(kind)
    sources = {str(path.relative_to(ROOT)) for path in (ROOT / "agui_wire").rglob("*.py")}
    about = {name for name in files if name.startswith("agui_wire-")}
    extension = {name for name in files if EXTENSION.fullmatch(name)}
    assert len(extension) == (1 if kind == "native" else 0)
    assert files - about - extension == sources | DATA
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in about)


@pytest.mark.parametrize("kind", WHEELS)
def test_what_a_wheel_says(built: Built, kind: str) -> None:
    metadata = built.metadata(kind)
    assert metadata["Name"] == "agui-wire"
    assert metadata["Version"] == agui_wire.__version__
    assert metadata["License-Expression"] == "MIT"
    assert metadata["License-File"] == "LICENSE"
    assert metadata["Description-Content-Type"] == "text/markdown"
    tag = built.metadata(kind, "WHEEL")["Tag"]
    assert (tag == "py3-none-any") == (kind == "pure")
    if kind == "native":
        assert tag.startswith(f"cp{sys.version_info[0]}{sys.version_info[1]}-")


def test_the_description_leads_nowhere_inside_the_checkout(built: Built) -> None:
    description = built.metadata("native").get_payload()
    assert isinstance(description, str)
    assert description.startswith("# agui_wire")
    targets = re.findall(r"\]\(([^)]*)\)", description)
    assert [target for target in targets if not target.startswith(("https:", "http:", "#"))] == []


def test_the_index_would_take_them(built: Built) -> None:
    check = (sys.executable, "-m", "twine", "check", "--strict")
    run(*check, built.sdist, built.native, built.pure, cwd=built.unpacked)


@pytest.mark.parametrize(("kind", "engine"), [("native", "native"), ("pure", "reference")])
def test_an_installed_wheel(built: Built, kind: str, engine: str, tmp_path: Path) -> None:
    """In an environment of its own, outside the checkout, without extras."""
    environment = tmp_path / "environment"
    venv.create(environment, with_pip=True)
    python = environment / ("Scripts" if os.name == "nt" else "bin") / "python"
    run(python, "-m", "pip", "install", "--quiet", built.wheel(kind), cwd=tmp_path)
    run(python, "-m", "pip", "check", cwd=tmp_path)
    program = (
        "import agui_wire; from agui_wire import *; "
        "body = encode({'type': 'RAW', 'event': [1]}, AGUI_MEDIA_TYPE); "
        "print(protobuf_engine(), agui_wire.__file__, decode(body, AGUI_MEDIA_TYPE)[0].event)"
    )
    printed = run(python, "-W", "error", "-c", program, cwd=tmp_path, AGUI_WIRE_PURE="0")
    assert printed.split() == [engine, str(next(environment.rglob("agui_wire/__init__.py"))), "[1]"]
    bare = subprocess.run([python, "-m", "agui_wire"], cwd=tmp_path, capture_output=True, text=True)
    assert bare.stderr == "the command line needs its extra: pip install 'agui-wire[cli]'\n"


def test_the_tests_run_from_the_sdist(built: Built) -> None:
    pytest_ = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider")
    run(*pytest_, "--collect-only", cwd=built.unpacked)
    some = ("tests/test_schema.py", "tests/test_vectors.py", "tests/test_demo.py")
    run(*pytest_, *some, cwd=built.unpacked)
