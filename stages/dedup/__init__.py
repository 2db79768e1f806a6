"""Each text once: the same text, and texts that resemble each other."""
