"""Pages as crawled become text."""
