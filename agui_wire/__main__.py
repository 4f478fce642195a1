"""`python -m agui_wire` is `agui-wire`."""

from .cli import main

main()
