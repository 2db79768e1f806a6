"""What a file should be by its name. Content decides first; the name only where content says nothing."""

from __future__ import annotations

_NAMES = {
    "warc": ".warc", "wet": ".wet", "arc": ".arc", "jsonl": ".jsonl .ndjson .json", "parquet": ".parquet .parq",
    "csv": ".csv", "tsv": ".tsv .tab", "txt": ".txt .text", "html": ".html .htm .xhtml", "arrow": ".arrow .feather",
    "tar": ".tar .tgz .tbz2 .txz .tzst",
}  # fmt: skip
_ENDINGS = {ending: kind for kind, endings in _NAMES.items() for ending in endings.split()}
_PACKED = (".gz", ".zst", ".zstd", ".lz4", ".bz2", ".xz")
_ABOUT = ("readme", "license", "licence", "notice", "copying", "changelog", "changes", "contributing", "citation")


def kind_by_name(name: str) -> str | None:
    """Return what a file of this name should be, None where its ending says nothing."""
    name = name.lower()
    for _ in range(2):
        stem, dot, ending = name.rpartition(".")
        if dot + ending in _ENDINGS:
            return _ENDINGS[dot + ending]
        if dot + ending not in _PACKED:
            return None
        name = stem
    return None


def is_meant(name: str) -> bool:
    """Return whether a file of this name, found below a folder or in an archive that was named, holds documents: it is
    of a kind that is read, and no text about the others."""
    kind = kind_by_name(name)
    return kind is not None and not (kind == "txt" and name.split(".")[0].lower() in _ABOUT)
