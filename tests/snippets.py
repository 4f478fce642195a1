"""Examples in Markdown pages, to be executed and type-checked.

A Python example is a fence behind `<!-- example: name -->`; a `text` fence right behind it holds
exactly what it prints. A `console` fence is a session: each line that begins with `$ ` is run by
a shell, and what follows is what it prints, where a line `...` stands for any lines. A command
that ends in `&` goes on beside the others until the session ends. `<!-- not run: reason -->`
before a console fence says why it is left out. A session finds in its folder the page's
examples as `name.py`, and the fences behind `<!-- file: NAME -->`.
"""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

__all__ = ["ROOT", "Example", "Session", "check_types", "examples", "execute", "play", "sessions"]

ROOT = Path(__file__).resolve().parents[1]

_EXAMPLE = re.compile(
    r"^<!-- example: (?P<name>\w+) -->\n```python\n(?P<code>.*?)^```$"
    r"(?:\n+```text\n(?P<output>.*?)^```$)?",
    re.MULTILINE | re.DOTALL,
)
_SESSION = re.compile(
    r"^(?:<!-- not run: (?P<reason>[^\n]+) -->\n)?```console\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
_FILE = re.compile(
    r"^<!-- file: (?P<name>[\w.-]+) -->\n```\w+\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL
)
# The port that the pages use, so that it can be one that is free.
_PORT = "8000"


class Example(NamedTuple):
    """A Python example of a page, and what it prints where the page says so."""

    page: Path
    name: str
    code: str
    output: str | None


class Session(NamedTuple):
    """A console session of a page: its commands with what each prints, or why it is not run."""

    page: Path
    number: int
    steps: list[tuple[str, str]]
    reason: str | None


def examples(page: Path) -> dict[str, Example]:
    """The Python examples of a page. Fails where a Python fence is none of them."""
    text = page.read_text(encoding="utf-8")
    found = {
        m["name"]: Example(page, m["name"], m["code"], m["output"]) for m in _EXAMPLE.finditer(text)
    }
    assert text.count("```python") == len(found), f"{page.name}: a Python block is no example"
    return found


def sessions(page: Path) -> list[Session]:
    """The console sessions of a page."""
    text = page.read_text(encoding="utf-8")
    found = [
        Session(page, number, _steps(match["text"]), match["reason"])
        for number, match in enumerate(_SESSION.finditer(text), 1)
    ]
    assert text.count("```console") == len(found)
    assert not re.search(r"^```(sh|bash|shell)\b", text, re.MULTILINE), "shell blocks are console"
    return found


def _steps(text: str) -> list[tuple[str, str]]:
    steps: list[tuple[str, str]] = []
    for line in text.splitlines(keepends=True):
        if line.startswith("$ "):
            steps.append((line[2:].rstrip("\n"), ""))
        else:
            command, printed = steps[-1]
            steps[-1] = (command, printed + line)
    return steps


def _files(page: Path) -> dict[str, str]:
    text = page.read_text(encoding="utf-8")
    files = {f"{name}.py": example.code for name, example in examples(page).items()}
    return files | {match["name"]: match["text"] for match in _FILE.finditer(text)}


def execute(example: Example) -> ModuleType:
    """Executes an example; gives its module."""
    module = ModuleType(f"{example.page.stem.replace('-', '_').lower()}_{example.name}")
    # FastAPI looks annotations up in the module of a function.
    sys.modules[module.__name__] = module
    place = f"{example.page.name}, {example.name}"
    exec(compile(example.code, place, "exec", dont_inherit=True), module.__dict__)
    return module


def play(session: Session, folder: Path) -> None:
    """Runs a session in `folder`, and compares what it prints."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    for name, text in _files(session.page).items():
        (folder / name).write_text(text.replace(_PORT, port), encoding="utf-8")
    programs = [_shim(folder), str(Path(sys.executable).parent), os.environ["PATH"]]
    path = os.pathsep.join(programs)
    environment = {
        **os.environ, "PATH": path, "PYTHONPATH": str(ROOT), "COLUMNS": "100", "LC_ALL": "C.UTF-8",
        "PYTHONUNBUFFERED": "1",
    }  # fmt: skip
    with ExitStack() as stack:
        for command, wanted in session.steps:
            beside = command.endswith(" &")
            process = subprocess.Popen(
                ["bash", "-c", command.removesuffix(" &").replace(_PORT, port)],
                cwd=folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                start_new_session=True,
            )
            assert process.stdout is not None
            stack.callback(process.stdout.close)
            if beside:
                stack.callback(_end, process)
                printed = "".join(process.stdout.readline() for _ in wanted.splitlines())
            else:
                printed = process.communicate()[0]
            printed = printed.replace(port, _PORT)
            assert _matches(printed, wanted), f"$ {command}\n{printed}"


def _shim(folder: Path) -> str:
    """A folder that holds `agui-wire`, which a checkout need not have installed."""
    programs = folder / "bin"
    programs.mkdir()
    ours = programs / "agui-wire"
    ours.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m agui_wire "$@"\n', encoding="utf-8")
    ours.chmod(0o755)
    return str(programs)


def _end(process: subprocess.Popen[str]) -> None:
    os.killpg(process.pid, signal.SIGINT)
    process.wait()


# In an escaped line, with the spaces around it: a column is as wide as what stands in it.
_ELLIPSIS = re.compile(r"(?:\\ )*\\\.\\\.\\\.(?:\\ )*")


def _matches(printed: str, wanted: str) -> bool:
    pattern = "".join(
        r"(?:.*\n)*" if line == "..." else _ELLIPSIS.sub(".*", re.escape(line)) + r" *\n"
        for line in wanted.splitlines()
    )
    lines = "".join(f"{line.rstrip()}\n" for line in printed.splitlines())
    return re.fullmatch(pattern, lines) is not None


def check_types(checker: tuple[str, ...], pages: list[Path], folder: Path) -> None:
    """Runs a type checker over the examples of `pages`, written to `folder`."""
    files: list[str] = []
    for page in pages:
        for example in examples(page).values():
            path = folder / f"{page.stem.replace('-', '_').lower()}_{example.name}.py"
            path.write_text(example.code, encoding="utf-8")
            files.append(str(path))
    command = [sys.executable, "-m", *checker, *files]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr
