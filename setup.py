"""Builds the native engine where there is a compiler; everything else is in pyproject.toml.

AGUI_WIRE_PURE=1 leaves it out, AGUI_WIRE_REQUIRE_NATIVE=1 makes it an error where it cannot be
built.
"""

from __future__ import annotations

import os
import re
import sys
import sysconfig
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

FOLDER = "agui_wire/codecs/native"
REQUIRED = os.environ.get("AGUI_WIRE_REQUIRE_NATIVE") == "1"
# It reaches into CPython's own objects, and without the GIL nothing would keep an event from
# changing while it is written.
SUITED = sys.implementation.name == "cpython" and not sysconfig.get_config_var("Py_GIL_DISABLED")


class OptionalBuild(build_ext):
    """Says so where the extension cannot be built, and goes on without it."""

    def build_extension(self, ext: Extension) -> None:
        try:
            super().build_extension(ext)
        except Exception as error:
            if REQUIRED:
                raise
            self.warn(f"the native engine was not built, so the pure one will run: {error}")
            self.extensions = [each for each in self.extensions if each is not ext]


def extensions() -> list[Extension]:
    if os.environ.get("AGUI_WIRE_PURE") == "1" or not SUITED:
        if REQUIRED:
            raise SystemExit("AGUI_WIRE_REQUIRE_NATIVE=1, but this is a build without it")
        return []
    included = [name for name in os.listdir(FOLDER) if name.endswith((".pxi", ".h"))]
    flags = os.environ.get("AGUI_WIRE_CFLAGS", "-O3 -g0" if os.name != "nt" else "/O2").split()
    return [
        Extension(
            "agui_wire.codecs.native.engine",
            [f"{FOLDER}/engine.pyx"],
            depends=[f"{FOLDER}/{name}" for name in sorted(included)],
            extra_compile_args=flags,
            extra_link_args=[flag for flag in flags if flag.startswith("-fsanitize")],
        )
    ]


def description() -> str:
    """The README without links into the checkout, which would lead nowhere on a package index."""
    text = Path("README.md").read_text(encoding="utf-8")
    text = re.sub(r"!\[[^\]]*\]\((?!https?:)[^)]*\)\n*", "", text)
    return re.sub(r"\[([^\]]+)\]\((?!https?:|#)([^)]+)\)", r"\1 (`\2` in the sources)", text)


setup(
    ext_modules=extensions(),
    cmdclass={"build_ext": OptionalBuild},
    long_description=description(),
    long_description_content_type="text/markdown",
)
