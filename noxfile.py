"""The test matrix: every Python, and the oldest and newest dependencies that pyproject.toml admits.

`nox` runs the suite over every Python that is found, `nox -s NAME-VERSION` one session of those
that `nox --list` names. What follows `--` goes to pytest.
"""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path

import nox
from packaging.requirements import Requirement

PROJECT = nox.project.load_toml("pyproject.toml")
PYTHONS = ["3.10", "3.11", "3.12", "3.13", "3.14"]
# The extras of an installation; the others are for work on the package.
EXTRAS = ("http", "cli", "zstd", "partial")
# The Python SDK's versions with the pydantic that each is tried with: the oldest that either
# admits, the last before protocol 1.0, and 1.0 on the oldest.
SDKS = {
    "0.1.10": "pydantic==2.11.2",
    "0.1.22": "pydantic",
    "1.0.0": "pydantic==2.11.2",
}

nox.options.sessions = ["tests", "pure", "lowest", "sdk", "wheel"]
nox.options.error_on_missing_interpreters = False


def floors() -> list[str]:
    """The runtime requirements, each pinned to the oldest version that it admits."""
    project = PROJECT["project"]
    lines = [*project["dependencies"]]
    for extra in EXTRAS:
        lines += project["optional-dependencies"][extra]
    pins = []
    for requirement in map(Requirement, lines):
        (bound,) = [each for each in requirement.specifier if each.operator == ">="]
        marker = f"; {requirement.marker}" if requirement.marker else ""
        pins.append(f"{requirement.name}=={bound.version}{marker}")
    return pins


def run_tests(session: nox.Session, *, engine: str = "native") -> None:
    """Runs pytest in the checkout, after a look at which engine it will run on."""
    session.run("python", "-m", "pip", "freeze", "--exclude-editable", silent=False)
    check = f"import agui_wire; assert agui_wire.protobuf_engine() == {engine!r}"
    session.run("python", "-c", check)
    session.run("python", "-m", "pytest", *session.posargs)


@nox.session(python=PYTHONS)
def tests(session: nox.Session) -> None:
    """The suite, over the newest dependencies and both engines."""
    session.install("--editable", ".[test]", env={"AGUI_WIRE_REQUIRE_NATIVE": "1"})
    run_tests(session)


@nox.session(python="3.12")
def pure(session: nox.Session) -> None:
    """The suite without the native engine."""
    session.env["AGUI_WIRE_PURE"] = "1"
    session.install("--editable", ".[test]")
    run_tests(session, engine="reference")


@nox.session(python=["3.10", "3.13"])
def lowest(session: nox.Session) -> None:
    """The suite over the oldest dependencies."""
    required = {"AGUI_WIRE_REQUIRE_NATIVE": "1"}
    session.install("--editable", ".[test]", *floors(), env=required)
    run_tests(session)


@nox.session(python="3.11")
@nox.parametrize("version", list(SDKS))
def sdk(session: nox.Session, version: str) -> None:
    """Events of the Python SDK, over its versions. Other tests compare with 1.0 alone."""
    session.install("--editable", ".[test]", env={"AGUI_WIRE_REQUIRE_NATIVE": "1"})
    session.install(f"ag-ui-protocol=={version}", SDKS[version])
    session.run("python", "-m", "pytest", "tests/test_sdk.py", *session.posargs)


@nox.session(python=PYTHONS)
def wheel(session: nox.Session) -> None:
    """A built wheel, outside the checkout, with the test command of the release builds."""
    config = PROJECT["tool"]["cibuildwheel"]
    scratch = Path(session.create_tmp())
    session.install("build")
    command = ("python", "-m", "build", "--wheel", "--outdir", str(scratch))
    session.run(*command, env=config["environment"])
    session.install(*scratch.glob("*.whl"), *config["test-requires"])
    away = scratch / "away"
    for name in config["test-sources"]:
        copy = shutil.copytree if Path(name).is_dir() else shutil.copy
        copy(name, away / name)
    with session.chdir(away):
        for line in config["test-command"]:
            session.run(*shlex.split(line))
