"""The pages in docs/ that are made from the code, from its lists, or from tables beside this.

python -m tools.pages           writes them
python -m tools.pages --check   exits with 1 where one is not up to date
"""

from __future__ import annotations

from collections.abc import Sequence

Rule = Sequence[str]
"""What holds, in a few words, and the tests that drive it."""

Section = tuple[str, Sequence[Rule]]
"""A heading, and the rules below it."""
