"""The workloads of `agui-wire bench` under pytest-benchmark, for one contender at a time.

    python -m pytest benchmarks --benchmark-only -k bench

For figures to go by, run `agui-wire bench`: it measures in rounds with a baseline around each.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agui_wire.bench import ours, plain
from agui_wire.bench.prepared import Context
from agui_wire.bench.workloads import RECORDED, WorkloadFile, write_workloads

WORKLOADS = ("tokens", "state 100 KB", RECORDED)
TABLES = {**ours.PREPARE, **plain.PREPARE}
CASES = [
    (axis, name)
    for axis in ("encode", "decode", "pipeline")
    for name in ("sse", "protobuf", "msgpack", "msgspec", "json")
    if (axis, name) in TABLES
]


@pytest.fixture(scope="module")
def workloads(tmp_path_factory: pytest.TempPathFactory) -> dict[str, WorkloadFile]:
    directory: Path = tmp_path_factory.mktemp("workloads")
    return {each.name: each for each in write_workloads(directory, frozenset(WORKLOADS))}


@pytest.mark.parametrize("workload", WORKLOADS)
@pytest.mark.parametrize(("axis", "name"), CASES)
def test_bench(
    benchmark: Any, workloads: dict[str, WorkloadFile], workload: str, axis: str, name: str
) -> None:
    prepared = TABLES[axis, name](Context(workloads[workload].path))
    benchmark.group = f"{axis}: {workload}"
    benchmark.extra_info.update(events=prepared.events, bytes=prepared.size)
    benchmark.pedantic(prepared.run, rounds=5, warmup_rounds=1)
