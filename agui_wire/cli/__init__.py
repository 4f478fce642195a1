"""The command line, `agui-wire` (extra `cli`)."""

from __future__ import annotations

import logging
import sys

try:
    import click
    import rich  # noqa: F401
except ImportError:  # pragma: no cover - depends on what is installed
    sys.exit("the command line needs its extra: pip install 'agui-wire[cli]'")

from .. import __version__
from ..bench.command import bench
from .call import call
from .files import convert, inspect
from .replay import demo, serve

__all__ = ["main"]


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__)
def main() -> None:
    """AG-UI event streams in binary: call agents, look at recordings, replay and convert them."""
    # Commands print the warnings themselves; without a handler, logging would print them again.
    logging.getLogger("agui_wire").addHandler(logging.NullHandler())


for _command in (bench, call, convert, demo, inspect, serve):
    main.add_command(_command)
