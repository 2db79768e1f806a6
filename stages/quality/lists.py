"""Lists of words and addresses, a line each, from files or out of an installed package."""

from __future__ import annotations

import gzip
import hashlib
import importlib.resources
from functools import lru_cache

from pipeline.errors import InputError
from pipeline.stage import StageFault
from pipeline.storage import local_copy

PACKAGE = "package://"
"""``package://name/folder/file.txt`` is a file that the installed package `name` brings along."""


def read_bytes(path: str) -> bytes:
    """Return the content of a list, unpacked where it is gzip.

    Raises:
        OSError: it cannot be read.
        ModuleNotFoundError: the package is not installed.
    """
    if path.startswith(PACKAGE):
        package, _, name = path.removeprefix(PACKAGE).partition("/")
        data = importlib.resources.files(package).joinpath(*name.split("/")).read_bytes()
    else:
        data = local_copy(path).read_bytes()
    return gzip.decompress(data) if data.startswith(b"\x1f\x8b") else data


@lru_cache(maxsize=64)
def entries(path: str) -> tuple[str, ...]:
    """Return the entries of the list at `path`: its lines without white space around them; `#` begins a remark."""
    lines = read_bytes(path).decode("utf-8-sig").splitlines()
    found = (line.strip() for line in lines if not line.startswith("#"))
    return tuple(dict.fromkeys(line.partition(" #")[0].strip() for line in found if line))


def checked(key: str, paths: tuple[str, ...]) -> None:
    """Raise `StageFault` for a list that cannot be read, is no text in UTF-8 or has no entry."""
    for path in paths:
        try:
            empty = not entries(path)
        except (InputError, OSError, EOFError, ModuleNotFoundError, UnicodeDecodeError, ValueError) as error:
            raise StageFault(key, f"{path}: {error}; give text in UTF-8, an entry a line, plain or gzip") from error
        if empty:
            raise StageFault(key, f"{path} has no entry: give one a line, or leave the list out")


def digests(paths: tuple[str, ...], key: str) -> dict[str, str]:
    """Return the SHA-256 of each list, as `Stage.resources` names them."""
    return {f"{key} {n}": hashlib.sha256(read_bytes(path)).hexdigest() for n, path in enumerate(paths)}
