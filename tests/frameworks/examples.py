"""The examples in docs/frameworks.md, by name."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

__all__ = ["DOC", "EXAMPLES", "run"]

DOC = Path(__file__).resolve().parents[2] / "docs" / "frameworks.md"

_EXAMPLE = re.compile(r"^<!-- example: (\w+) -->\n```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
EXAMPLES: dict[str, str] = dict(_EXAMPLE.findall(DOC.read_text(encoding="utf-8")))


def run(name: str, **given: Any) -> dict[str, Any]:
    """Executes an example with the names in `given`; its names."""
    names: dict[str, Any] = {"__name__": f"example_{name}", **given}
    code = compile(EXAMPLES[name], f"{DOC.name}, {name}", "exec", dont_inherit=True)
    exec(code, names)
    return names
