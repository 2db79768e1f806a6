"""Text from documents on a page: neither markup nor anything that turns, hides or overwrites what stands beside it."""

from __future__ import annotations

import html

from pipeline.visible import visible


def escape(text: str) -> str:
    """Return `text` as a page can hold it."""
    return html.escape(visible(text, keep="\n"))
