"""Compare the instructions of six core paths at two commits, and fail where one lost over 20 %.

    python tools/count_instructions.py [BASE [COMMIT]]     HEAD^ and HEAD if not given

Instructions are counted by callgrind (valgrind has to be installed): they are steady where times
are not. Each commit is unpacked and built in a directory of its own, with this interpreter. One
run under callgrind does all six paths; it takes about half a minute, and there are three for
each commit.
"""

from __future__ import annotations

import gc
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

LIMIT = 0.20
ROOT = Path(__file__).resolve().parents[1]
PROTOBUF = "application/vnd.ag-ui.event+proto"
SSE = "text/event-stream"

# Callgrind writes down its counts, and begins anew, when this function of the C library is entered.
_MARK = "getpgid"
_REPEATS = 10
_HASH_SEEDS = ("0", "1", "2")

Work = Callable[[], Any]


def _paths() -> dict[str, Work]:
    """By name, something to do once; only public names, so that older commits have them."""
    import agui_wire

    run = {"threadId": "t", "runId": "r"}
    message = {"messageId": "5f0c7d4e-9a0b-4d53-8a0e-4b1f0d2c3a11"}
    start = [
        {"type": "RUN_STARTED", **run},
        {"type": "TEXT_MESSAGE_START", **message, "role": "assistant"},
    ]
    content = {"type": "TEXT_MESSAGE_CONTENT", **message, "delta": " word"}
    deltas = [agui_wire.from_dict(content) for _ in range(100)]
    opened = [agui_wire.from_dict(event) for event in start]
    record = {"id": 7, "title": "some words", "done": True, "score": 9.25, "tags": ["a", "b"]}
    snapshot = {"type": "STATE_SNAPSHOT", "snapshot": {"items": [record] * 50}}
    state = agui_wire.from_dict(snapshot)
    encoder = agui_wire.EventEncoder(PROTOBUF)
    delta_body = encoder.encode_many(deltas)
    state_body = encoder.encode(state)
    run_body = encoder.encode_many([*opened, *deltas])
    sse_body = agui_wire.EventEncoder(SSE).encode_many(deltas)

    def encode() -> None:
        for event in deltas:
            encoder.encode(event)

    return {
        "encode a delta": encode,
        "encode a state": lambda: encoder.encode(state),
        "decode deltas": lambda: agui_wire.StreamDecoder(PROTOBUF).feed(delta_body),
        "decode deltas, SSE": lambda: agui_wire.StreamDecoder(SSE).feed(sse_body),
        "decode a state": lambda: agui_wire.StreamDecoder(PROTOBUF).feed(state_body),
        "pipeline": lambda: agui_wire.StreamConsumer(PROTOBUF).feed(run_body),
    }


def measured() -> None:
    """What runs under callgrind: each path between two marks. Prints the paths' names in order."""
    import agui_wire

    paths = _paths()
    gc.collect()
    gc.disable()
    for name, work in paths.items():
        for _ in range(3):
            work()
        os.getpgid(0)
        for _ in range(_REPEATS):
            work()
        os.getpgid(0)
        print(name)
    print(agui_wire.protobuf_engine())


def count(checkout: Path) -> tuple[str, dict[str, int]]:
    """The engine, and by path the instructions of one repeat, of the package in `checkout`.

    Tables that are keyed by addresses or by hashes have more collisions in one layout of memory
    than in another: the least of several layouts is the code's own. Raises CalledProcessError.
    """
    counted = [_count(checkout, seed) for seed in _HASH_SEEDS]
    engine, first = counted[0]
    return engine, {name: min(each[name] for _, each in counted) for name in first}


def _count(checkout: Path, hash_seed: str) -> tuple[str, dict[str, int]]:
    with tempfile.TemporaryDirectory() as directory:
        command = [
            "valgrind",
            "--quiet",
            "--tool=callgrind",
            f"--dump-before={_MARK}",
            f"--dump-before=__{_MARK}",
            f"--callgrind-out-file={directory}/out",
            *(sys.executable, str(Path(__file__).resolve()), "--measured"),
        ]
        environment = {**os.environ, "PYTHONPATH": str(checkout), "PYTHONHASHSEED": hash_seed}
        told = subprocess.run(
            command,
            cwd=directory,
            env=environment,
            stdout=subprocess.PIPE,
            encoding="utf-8",
            check=True,
        )
        *names, engine = told.stdout.splitlines()
        dumps = [_total(Path(directory, f"out.{n}")) for n in range(1, 2 * len(names) + 1)]
    # Every second dump is what lies between the two marks of a path.
    return engine, {name: total // _REPEATS for name, total in zip(names, dumps[1::2])}


def _total(dump: Path) -> int:
    for line in dump.read_text(encoding="utf-8", errors="replace").splitlines():
        if line.startswith(("summary:", "totals:")):
            return int(line.split()[1])
    raise ValueError(f"{dump} holds no sum")


def _built(commit: str, directory: Path) -> Path:
    """The files of `commit` in `directory`, with the extensions where they can be built."""
    archive = directory.with_suffix(".tar")
    subprocess.run(["git", "-C", str(ROOT), "archive", "-o", str(archive), commit], check=True)
    shutil.unpack_archive(archive, directory)
    if (directory / "setup.py").exists():
        build = [sys.executable, "setup.py", "--quiet", "build_ext", "--inplace"]
        told = subprocess.run(
            build,
            cwd=directory,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            errors="replace",
        )
        if told.returncode:
            print(f"{told.stdout}\n{commit}: the extensions could not be built", file=sys.stderr)
    return directory


def compare(base: dict[str, int], present: dict[str, int]) -> tuple[list[str], bool]:
    """Lines of a table, and whether a path lost more than LIMIT."""
    lines, lost = [], False
    for name, now in present.items():
        before = base.get(name)
        if before is None:
            lines.append(f"{name:24} {'-':>12} {now:>12,}")
            continue
        change = now / before - 1
        lost = lost or change > LIMIT
        mark = "  LOST" if change > LIMIT else ""
        lines.append(f"{name:24} {before:>12,} {now:>12,} {change:>+8.1%}{mark}")
    return lines, lost


def main(arguments: list[str]) -> int:
    """The exit code: 1 where a path lost more than LIMIT."""
    commits = [*arguments, *["HEAD^", "HEAD"][len(arguments) :]]
    counts: list[dict[str, int]] = []
    with tempfile.TemporaryDirectory() as parent:
        for commit, name in zip(commits, ("base", "present")):
            engine, counted = count(_built(commit, Path(parent, name)))
            print(f"{name}: {commit}, {engine} engine")
            counts.append(counted)
    lines, lost = compare(*counts)
    print(f"{'instructions':24} {'base':>12} {'present':>12} {'change':>8}")
    print("\n".join(lines))
    return 1 if lost else 0


if __name__ == "__main__":
    if sys.argv[1:] == ["--measured"]:
        measured()
    else:
        sys.exit(main(sys.argv[1:]))
