"""The published rule sets: Gopher, C4, FineWeb."""
