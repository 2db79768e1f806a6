"""From raw crawl shards to a token budget and a priced training run, in one recipe, with every document accounted for.

import tokenmill
kept, removed, tally = tokenmill.apply([C4(), MinHashDedup()], texts)
run = tokenmill.run("recipe.toml", out="runs/news")
"""

from __future__ import annotations

from typing import Any

__all__ = ["Applied", "Run", "apply", "run"]


def __getattr__(name: str) -> Any:
    """Load the interface when it is asked for: the command line need not wait for it."""
    if name in __all__:
        from tokenmill import api

        return getattr(api, name)
    raise AttributeError(f"module 'tokenmill' has no attribute {name!r}")
