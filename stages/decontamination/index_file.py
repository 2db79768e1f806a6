"""An index of evaluation sets kept on disk: built once for all workers and runs, and mapped into memory by each.

The file lies in the user's cache folder (``TOKENMILL_CACHE``, else ``tokenmill`` below ``XDG_CACHE_HOME`` or ``~/.cache``)
under a name that the evaluation files, the parameters and the code that builds give it. It may be deleted at any time; where
it cannot be written, whoever needs the index builds it.
"""

from __future__ import annotations

import dataclasses
import hashlib
import mmap
import os
import pathlib
from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np

from pipeline.errors import StorageError
from pipeline.storage import Folder
from stages.decontamination import delimited, evaluation_sets, json_shapes, ngram_index, passages
from stages.decontamination.ngram_index import NgramIndex
from stages.decontamination.passages import Passage, SetCounts
from stages.text import shingles, units

KEPT = 8
"""Indexes that stay in the cache folder; the oldest go."""

ALIGNED = 64


def cache_folder() -> pathlib.Path:
    """Return where indexes are kept."""
    own = os.environ.get("TOKENMILL_CACHE")
    base = (
        pathlib.Path(own)
        if own
        else pathlib.Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "tokenmill"
    )
    return base / "decontamination"


def index_for(identity: dict[str, Any], build: Callable[[], NgramIndex]) -> NgramIndex:
    """Return the index that `identity` (JSON) names: mapped from its file, or built, and then kept for others."""
    name = f"{_key(identity)}.index"
    path = cache_folder() / name
    found = _mapped(path)
    if found is None:
        index = build()
        if not _kept(index, path):
            return index
        found = _mapped(path)
        return index if found is None else found
    return found


def _key(identity: dict[str, Any]) -> str:
    code = [
        module.__file__ for module in (delimited, evaluation_sets, json_shapes, ngram_index, passages, shingles, units)
    ]
    sha = hashlib.sha256(msgspec.json.encode(identity, order="deterministic"))
    for file in code:
        sha.update(pathlib.Path(str(file)).read_bytes())
    return sha.hexdigest()[:32]


def _kept(index: NgramIndex, path: pathlib.Path) -> bool:
    """Write `index` and return whether that went well."""
    header, blocks, at = {}, [], 0
    for field in dataclasses.fields(index):
        value = getattr(index, field.name)
        if isinstance(value, np.ndarray):
            data = np.ascontiguousarray(value).tobytes()
            header[field.name] = [value.dtype.str, list(value.shape), at]
            data += bytes(-len(data) % ALIGNED)
            blocks.append(data)
            at += len(data)
    rest = {"ngram": index.ngram, "prefix": index.prefix, "passages": index.passages, "sets": index.sets}
    body = b"".join(blocks)
    head = msgspec.json.encode({"arrays": header, "rest": rest, "sha256": hashlib.sha256(body).hexdigest()})
    head += b" " * (-(len(head) + 8) % ALIGNED)
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        Folder(str(path.parent)).put(path.name, len(head).to_bytes(8, "little") + head + body)
        old = sorted(path.parent.glob("*.index"), key=lambda file: file.stat().st_mtime)[:-KEPT]
        for file in old:
            file.unlink(missing_ok=True)
    except (OSError, StorageError):
        return False
    return True


def _mapped(path: pathlib.Path) -> NgramIndex | None:
    """Return the index in file `path`, or None where there is none, or none that is whole and this user's own."""
    try:
        with path.open("rb") as file:
            if os.fstat(file.fileno()).st_uid != os.getuid():
                return None
            data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        size = int.from_bytes(data[:8], "little")
        head = msgspec.json.decode(data[8 : 8 + size])
        body = memoryview(data)[8 + size :]
        if hashlib.sha256(body).hexdigest() != head["sha256"]:
            return None
        arrays = {
            name: np.frombuffer(body, dtype, int(np.prod(shape)), at).reshape(shape)
            for name, (dtype, shape, at) in head["arrays"].items()
        }
        rest = head["rest"]
        names = msgspec.convert(rest["passages"], tuple[Passage, ...])
        sets = msgspec.convert(rest["sets"], tuple[SetCounts, ...])
        return NgramIndex(ngram=rest["ngram"], prefix=rest["prefix"], passages=names, sets=sets, **arrays)
    except (OSError, ValueError, KeyError, TypeError, msgspec.MsgspecError):
        return None
