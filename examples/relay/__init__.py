"""One agent run, watched by many."""
