"""Makes the environments of the frameworks: python tests/frameworks/install.py [NAME...]

Each has its own under .venv-frameworks, with what requirements/NAME.txt pins, for the Python
that runs this; without names, all.
"""

from __future__ import annotations

import subprocess
import sys
import venv
from pathlib import Path

HERE = Path(__file__).resolve().parent
ENVIRONMENTS = HERE.parents[1] / ".venv-frameworks"
REQUIREMENTS = {path.stem: path for path in sorted((HERE / "requirements").glob("*.txt"))}

__all__ = ["ENVIRONMENTS", "REQUIREMENTS", "python_of"]


def python_of(name: str) -> Path:
    """The interpreter of a framework's environment."""
    folder, suffix = ("Scripts", ".exe") if sys.platform == "win32" else ("bin", "")
    return ENVIRONMENTS / name / folder / f"python{suffix}"


def main(names: list[str]) -> None:
    unknown = set(names) - REQUIREMENTS.keys()
    if unknown:
        sys.exit(f"no such framework: {', '.join(sorted(unknown))}; there are {list(REQUIREMENTS)}")
    for name in names or REQUIREMENTS:
        print(name, flush=True)
        venv.create(ENVIRONMENTS / name, clear=True, with_pip=True)
        pip = [str(python_of(name)), "-m", "pip", "install", "--quiet"]
        subprocess.run([*pip, "--requirement", str(REQUIREMENTS[name])], check=True)


if __name__ == "__main__":
    main(sys.argv[1:])
