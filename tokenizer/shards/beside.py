"""Other trainers' names for the payloads that stand: links where the bytes agree, small files beside them."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from pipeline.storage import Folder
from tokenizer.shards.formats import datatrove_index, datatrove_metadata, llmc_header, read_megatron_index
from tokenizer.shards.manifest import HELD_OUT, Manifest, ShardFile

COPY_BYTES = 8 << 20


def write_formats(folder: Folder, manifest: Manifest, formats: Sequence[str]) -> None:
    """Write what `formats` want beside the payloads, and last the manifest, which names it."""
    payloads = [*manifest.files, *manifest.held_out]
    for name in formats:
        if name in ("datatrove", "olmo"):
            for file in payloads:
                _DATATROVE_OR_OLMO[name](folder, manifest, file)
        elif name in ("nanogpt", "llmc"):
            for target, files in (("train", manifest.files), ("val", manifest.held_out)):
                if files:
                    _NANOGPT_OR_LLMC[name](folder, manifest, target, files)
    manifest.formats = list(dict.fromkeys([*manifest.formats, *formats]))
    manifest.save(folder)


def _datatrove(folder: Folder, manifest: Manifest, file: ShardFile) -> None:
    """``.ds`` is the payload, with the ends of the documents and a description beside it."""
    folder.link(file.name, f"{file.stem}.ds")
    manifest.others[f"{file.stem}.ds"] = file.sha256
    _, lengths = read_megatron_index(folder, f"{file.stem}.idx")
    _put(folder, manifest, f"{file.stem}.ds.index", datatrove_index(lengths))
    about = datatrove_metadata(manifest.tokenizer["file"], file.tokens, manifest.dtype)
    _put(folder, manifest, f"{file.stem}.ds.metadata", about)


def _olmo(folder: Folder, manifest: Manifest, file: ShardFile) -> None:
    folder.link(file.name, f"{file.stem}.npy")
    manifest.others[f"{file.stem}.npy"] = file.sha256


def _nanogpt(folder: Folder, manifest: Manifest, target: str, files: Sequence[ShardFile]) -> None:
    """One file of all tokens: the payload itself where there is one, else all of them one behind the other."""
    if len(files) == 1:
        folder.link(files[0].name, f"{target}.bin")
        manifest.others[f"{target}.bin"] = files[0].sha256
    else:
        manifest.others[f"{target}.bin"] = _joined(folder, b"", [file.name for file in files], f"{target}.bin")


def _llmc(folder: Folder, manifest: Manifest, target: str, files: Sequence[ShardFile]) -> None:
    """A file of its own with a header for each payload; llm.c and modded-nanogpt take a pattern of names."""
    for file in files:
        stem = file.stem.removeprefix(f"{HELD_OUT}/").removeprefix("part-").replace("/part-", "-")
        name = f"llmc/{target}_{stem}.bin"
        manifest.others[name] = _joined(folder, llmc_header(file.tokens), [file.name], name)


_DATATROVE_OR_OLMO = {"datatrove": _datatrove, "olmo": _olmo}
_NANOGPT_OR_LLMC = {"nanogpt": _nanogpt, "llmc": _llmc}


def _put(folder: Folder, manifest: Manifest, name: str, data: bytes) -> None:
    folder.put(name, data)
    manifest.others[name] = hashlib.sha256(data).hexdigest()


def _joined(folder: Folder, head: bytes, names: Sequence[str], target: str) -> str:
    """Write `head` and the files `names` one behind the other as `target`; return its SHA-256."""
    sha = hashlib.sha256(head)
    with folder.writing(target) as out:
        out.write(head)
        for name in names:
            with folder.open(name) as file:
                while block := file.read(COPY_BYTES):
                    sha.update(block)
                    out.write(block)
    return sha.hexdigest()
