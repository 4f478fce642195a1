"""What may import what: the picture in docs/architecture.md, enforced.

Read from the sources, so an import inside a function counts too. What only a type checker
imports does not.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1] / "agui_wire"

LAYERS = {
    "model": "events messages run_input media_types errors _struct",
    "helpers": "_framing _json _plain _sdk _spelling _warnings",
    "codecs": "codecs",
    "pipeline": "pipeline",
    "stages": "encoder decoder convert dropin",
    "tools": "inspection recording",
    "http": "http demo",
    "top": "agui_wire",
    "bench": "bench",
    "cli": "cli __main__",
}
LAYER_OF = {name: layer for layer, names in LAYERS.items() for name in names.split()}

# Each layer may import itself and these.
ALLOWED = {
    "model": "",
    "helpers": "model",
    "codecs": "model helpers",
    "pipeline": "model helpers",
    "stages": "model helpers codecs pipeline",
    "tools": "model helpers pipeline stages",
    "http": "model helpers pipeline stages tools",
    "top": "model helpers codecs pipeline stages",
    "bench": "model helpers codecs pipeline stages tools http top",
    "cli": "model helpers codecs pipeline stages tools http top bench",
}

# One module each that joins what its layer keeps apart, and a codec that reads and writes JSON.
JOINTS = {
    ("pipeline.consumer", "decoder"),
    ("pipeline.consumer", "codecs.native"),
    ("pipeline.request", "codecs.sse"),
    ("http._run", "codecs.sse"),
}

# Where a library that is optional, heavy, or tied to one job may be imported.
LIBRARIES = {
    "aiohttp": "http bench cli",
    "asyncio": "http bench cli",
    "click": "bench cli",
    "google": "codecs bench",
    "msgspec": "model helpers codecs pipeline stages tools http bench cli",
    "rich": "bench cli",
}
# Imported only where a caller has them, inside a function.
LATE = {"ag_ui", "backports", "compression", "jiter", "matplotlib", "orjson", "pydantic", "uvicorn"}


def module_name(path: Path) -> str:
    """Below the package: `pipeline.verify`; the package itself is `agui_wire`."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(part for part in parts if part != "__init__") or "agui_wire"


MODULES = {module_name(path): path for path in sorted(ROOT.rglob("*.py"))}


def layer_of(module: str) -> str:
    return LAYER_OF[module.partition(".")[0]]


def nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """Everything but the bodies of `if TYPE_CHECKING`."""
    yield tree
    for child in ast.iter_child_nodes(tree):
        if isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING":
            continue
        yield from nodes(child)


def imports(module: str) -> set[str]:
    """What a module imports: of this package the modules, of others the top-level name."""
    path = MODULES[module]
    package = ["agui_wire", *path.relative_to(ROOT).parent.parts]
    found = set()
    for node in nodes(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            start = ".".join([*base, *([node.module] if node.module else [])])
            for alias in node.names:
                inner = f"{start}.{alias.name}".removeprefix("agui_wire.")
                found.add(f"agui_wire.{inner}" if inner in MODULES else start)
    return {
        name.removeprefix("agui_wire.") if name.startswith("agui_wire") else name.partition(".")[0]
        for name in found
    }


def test_every_module_has_a_layer() -> None:
    assert {module.partition(".")[0] for module in MODULES} <= LAYER_OF.keys()


@pytest.mark.parametrize("module", MODULES)
def test_imports_go_one_way(module: str) -> None:
    layer = layer_of(module)
    allowed = {layer, *ALLOWED[layer].split()}
    inside = {name for name in imports(module) if name.partition(".")[0] in LAYER_OF}
    against = {name for name in inside if layer_of(name) not in allowed}
    assert against - {name for joint, name in JOINTS if joint == module} == set()


def test_every_joint_is_used() -> None:
    assert {(module, name) for module, name in JOINTS if name not in imports(module)} == set()


@pytest.mark.parametrize("module", MODULES)
def test_libraries_stay_where_they_belong(module: str) -> None:
    outside = {name for name in imports(module) if name.partition(".")[0] not in LAYER_OF}
    watched = {name for name in outside if name in LIBRARIES or name not in sys.stdlib_module_names}
    misplaced = {
        name for name in watched - LATE if layer_of(module) not in LIBRARIES.get(name, "").split()
    }
    assert misplaced == set()


def test_asgi_needs_no_library() -> None:
    """Nor does what it imports, by whichever way."""
    reached = {"http.asgi"}
    waiting = [*reached]
    while waiting:
        for name in imports(waiting.pop()) & MODULES.keys() - reached:
            reached.add(name)
            waiting.append(name)
    assert not {module for module in reached if "aiohttp" in imports(module)}
