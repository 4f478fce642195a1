"""What every agent does: one call of its tool, then an answer of some words."""

from __future__ import annotations

import re
from collections.abc import Iterator

__all__ = ["ARGUMENTS", "CALL_ID", "TOOL", "answer", "forecast"]

CALL_ID = "call_1"
TOOL = "forecast"
ARGUMENTS = '{"city": "Kanazawa 金沢"}'

TEXT = "Late autumn is dry there: maples, 兼六園 before eight, and a bath – “♨️” – at dusk.\n"
WORDS = TEXT.split(" ")


def forecast(city: str) -> str:
    """The weather in a city."""
    return f"{city}: 14 °C, dry"


def answer(prompt: str) -> Iterator[str]:
    """The deltas of the answer: as many as `prompt` asks for ("5 words"), else 30.

    Raises RuntimeError after them where `prompt` asks for a failure.
    """
    number = re.search(r"(\d+) words", prompt)
    for index in range(int(number[1]) if number else 30):
        yield WORDS[index % len(WORDS)] + " "
    if "fail" in prompt:
        raise RuntimeError("the model is gone")
