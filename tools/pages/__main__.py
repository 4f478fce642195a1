"""Writes the pages, or checks them; see the package."""

from __future__ import annotations

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
        before, _, rest = page.partition(begin)
        _, found, after = rest.partition(end)
        assert found, f"the page has no place for {name}"
        page = f"{before}{begin}{text}{end}{after}"
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
