"""The README's examples, executed and type-checked."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from tests.http.asgi_server import serving

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")

_EXAMPLE = re.compile(r"^<!-- example: (\w+) -->\n```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
EXAMPLES: dict[str, str] = dict(_EXAMPLE.findall(README))


def run(name: str) -> ModuleType:
    """Executes an example; gives its module."""
    module = ModuleType(f"readme_{name}")
    # FastAPI looks annotations up in the module of a function.
    sys.modules[module.__name__] = module
    code = compile(EXAMPLES[name], f"README.md, {name}", "exec", dont_inherit=True)
    exec(code, module.__dict__)
    return module


def test_every_python_block_is_an_example() -> None:
    assert README.count("```python") == len(EXAMPLES)
    assert EXAMPLES.keys() >= {"fastapi", "client", "decoder"}


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_example_executes(name: str) -> None:
    run(name)


async def test_the_client_against_the_server(capsys: pytest.CaptureFixture[str]) -> None:
    async with serving(run("fastapi").app) as url:
        await run("client").main(url)
    assert capsys.readouterr().out.splitlines() == ["Hello", " success {}"]


@pytest.fixture(scope="module")
def example_files(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The examples as files."""
    folder = tmp_path_factory.mktemp("readme")
    paths = [folder / f"readme_{name}.py" for name in EXAMPLES]
    for path, text in zip(paths, EXAMPLES.values()):
        path.write_text(text, encoding="utf-8")
    return [str(path) for path in paths]


@pytest.mark.parametrize(
    "checker",
    [
        ("mypy", "--strict", "--follow-imports=silent"),
        pytest.param(("pyright", "--pythonpath", sys.executable), marks=pytest.mark.slow),
    ],
    ids=["mypy", "pyright"],
)
def test_every_example_has_right_types(checker: tuple[str, ...], example_files: list[str]) -> None:
    pytest.importorskip(checker[0])
    command = [sys.executable, "-m", *checker, *example_files]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr
