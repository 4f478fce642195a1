"""A page that reads one agent over SSE and over protobuf."""
