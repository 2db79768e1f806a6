"""tokenmill: from raw crawl shards to a token budget and a priced training run, with every document accounted for."""
