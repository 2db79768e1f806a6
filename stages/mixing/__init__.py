"""How much of each source a corpus holds."""
