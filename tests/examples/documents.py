"""The examples in documents, executed."""

from __future__ import annotations

import re
from pathlib import Path
from types import ModuleType

__all__ = ["ROOT", "documented"]

ROOT = Path(__file__).resolve().parents[2]


def documented(document: str, name: str) -> ModuleType:
    """Executes the Python block of `document` that is marked `<!-- example: name -->`."""
    text = (ROOT / document).read_text(encoding="utf-8")
    pattern = rf"^<!-- example: {name} -->\n```python\n(.*?)^```$"
    (source,) = re.findall(pattern, text, re.MULTILINE | re.DOTALL)
    module = ModuleType(name)
    exec(compile(source, f"{document}, {name}", "exec", dont_inherit=True), module.__dict__)
    return module
