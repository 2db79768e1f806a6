"""Options of commands that read files of text without a recipe."""

from __future__ import annotations

import argparse

_DOCUMENTS = (
    "file",
    "line",
    "paragraph",
)  # as pipeline.readers.contract.DOCUMENTS, which would cost a help page its imports


def add_text_options(parser: argparse.ArgumentParser) -> None:
    """Add what says where the text is: the column, and what is a document of a text file."""
    parser.add_argument("--text-column", default="text", help="column or key of the text (text)")
    parser.add_argument(
        "--documents", choices=_DOCUMENTS, default="file", help="of text files: what in them is a document (file)"
    )
