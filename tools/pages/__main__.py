"""Writes the pages, or checks them; see the package."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from .differences import differences_page
from .limits import limits_tables
from .support import support_page

__all__ = ["pages"]

DOCS = Path(__file__).resolve().parents[2] / "docs"


def pages() -> dict[Path, str]:
    """Each page that is made, whole or in part, and its text."""
    limits = DOCS / "limits.md"
    return {
        DOCS / "protocol-support.md": support_page(),
        DOCS / "differences.md": differences_page(),
        limits: _filled(limits.read_text(encoding="utf-8"), limits_tables()),
    }


def _filled(page: str, parts: dict[str, str]) -> str:
    """A page with its generated parts, which stand between two comments, made anew."""
    for name, text in parts.items():
        begin, end = f"<!-- begin: {name} -->\n", f"\n<!-- end: {name} -->"
        page, found = re.subn(
            f"{re.escape(begin)}.*?{re.escape(end)}",
            lambda _, whole=f"{begin}{text}{end}": whole,
            page,
            flags=re.DOTALL,
        )
        assert found == 1, f"the page has no place for {name}"
    return page


def main() -> None:
    """The command."""
    stale = []
    for path, text in pages().items():
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            stale.append(path.name)
            if "--check" not in sys.argv:
                path.write_text(text, encoding="utf-8")
    if stale and "--check" in sys.argv:
        sys.exit(f"not up to date: {', '.join(stale)}; run python -m tools.pages")


if __name__ == "__main__":
    main()
