"""The README's examples, executed and type-checked."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.http.asgi_server import serving
from tests.snippets import ROOT, check_types, examples, execute

README = ROOT / "README.md"
EXAMPLES = examples(README)


def test_the_examples_are_there() -> None:
    assert EXAMPLES.keys() >= {"fastapi", "client", "decoder"}


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_example_executes(name: str) -> None:
    execute(EXAMPLES[name])


async def test_the_client_against_the_server(capsys: pytest.CaptureFixture[str]) -> None:
    async with serving(execute(EXAMPLES["fastapi"]).app) as url:
        await execute(EXAMPLES["client"]).main(url)
    assert capsys.readouterr().out.splitlines() == ["Hello", " success {}"]


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    "checker",
    [
        ("mypy", "--strict", "--follow-imports=silent"),
        pytest.param(("pyright", "--pythonpath", sys.executable), marks=pytest.mark.slow),
    ],
    ids=["mypy", "pyright"],
)
def test_every_example_has_right_types(checker: tuple[str, ...], tmp_path: Path) -> None:
    pytest.importorskip(checker[0])
    check_types(checker, [README], tmp_path)
