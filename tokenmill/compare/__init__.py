"""Two finished runs side by side."""
