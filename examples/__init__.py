"""Programs that show agui_wire at work; each folder runs by itself."""
