"""Lists of addresses whose pages are not wanted: hosts with all below them, and hosts with a path."""

from __future__ import annotations

import functools
import gzip
import hashlib
from urllib.parse import urlsplit

from pipeline.storage import local_copy


class AddressFault(ValueError):
    """A list of addresses that cannot be read, with file, line and what to do."""


@functools.lru_cache(maxsize=4)
def listed(paths: tuple[str, ...]) -> frozenset[str]:
    """Return the entries of the files `paths`: ``example.org`` or ``example.org/path``, a line each, `#` for remarks.

    Raises:
        AddressFault: for a file that is no such list.
    """
    entries: set[str] = set()
    for path in paths:
        for number, line in enumerate(_text(path).splitlines(), 1):
            entry = line.partition("#")[0].strip()
            if not entry:
                continue
            if any(map(str.isspace, entry)) or "." not in entry:
                raise AddressFault(
                    f"{path}, line {number}: {entry[:60]!r} is no host, such as example.org or example.org/a"
                )
            entries.add(_plain(entry))
    return frozenset(entries)


def listed_as(url: str, entries: frozenset[str]) -> str | None:
    """Return the entry that covers `url`: its host, a domain above it, or one of these with the start of its path.

    >>> listed_as("https://www.a.example.org/x/y?z", frozenset(["example.org/x"])) is None
    True
    >>> listed_as("https://www.a.example.org/x/y?z", frozenset(["example.org"]))
    'example.org'
    """
    host, _, path = _plain(url).partition("/")
    domains = host.split(".")
    for n in range(len(domains) - 1):
        name = ".".join(domains[n:])
        if name in entries:
            return name
    parts = [host, *path.partition("?")[0].split("/")]
    starts = ("/".join(parts[:n]) for n in range(2, min(len(parts), 12) + 1))
    return next((start for start in starts if start in entries), None)


def digest(path: str) -> str:
    """Return the SHA-256 of a file's bytes."""
    return hashlib.sha256(local_copy(path).read_bytes()).hexdigest()


def _text(path: str) -> str:
    data = local_copy(path).read_bytes()
    try:
        return (gzip.decompress(data) if data.startswith(b"\x1f\x8b") else data).decode("utf-8-sig")
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise AddressFault(f"{path}: {error}; give text in UTF-8, a host a line, plain or gzip") from error


def _plain(address: str) -> str:
    """Return host and path, without scheme, user, port, ``www.`` and a closing slash."""
    try:
        parts = urlsplit(address if "//" in address else f"//{address}")
        host = (parts.hostname or "").removeprefix("www.")
    except ValueError:
        return ""
    query = f"?{parts.query}" if parts.query else ""
    return f"{host}{parts.path}{query}".rstrip("/")
