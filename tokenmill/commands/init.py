"""``tokenmill init``: looks at files and writes a commented recipe that runs on them."""

from __future__ import annotations

import argparse
import os
import pathlib
import re
import shutil
import sys
import tomllib
from collections.abc import Mapping, Sequence
from typing import Any

import tomli_w

from pipeline.errors import UserError
from pipeline.paths import PathFault, find_files, identity_of
from pipeline.readers import InputFile
from pipeline.readers.names import is_meant
from tokenmill.recipes import recipe_names, recipe_text
from tokenmill.survey import LOOK, Kind, Survey, Tried, TryOut, survey, typed
from tokenmill.terminal import lines, visible

SHOWN = 8
"""Files named in a comment, at most."""
BYTES_A_TOKEN = 400
"""Bytes of text for each token of the largest vocabulary that is written into a recipe."""
LARGEST = 131072
MANY_FAIL = 0.1
"""Share of records that fail in the try-out from which on the recipe allows for as many as there are."""
NO_LANGUAGES = ("und", "zxx", None)


def add_parser(commands: Any) -> None:
    """Register the command."""
    parser = commands.add_parser("init", help="look at files and write a commented recipe that runs on them")
    parser.add_argument("files", nargs="*", metavar="FILES", help="files, folders and patterns (default: this folder)")
    parser.add_argument(
        "--like", choices=recipe_names(), help="the published pipeline to follow (default: by the languages found)"
    )
    parser.add_argument("--out", default="recipe.toml", metavar="RECIPE", help="the recipe to write (recipe.toml)")
    parser.add_argument("--force", action="store_true", help="replace a recipe that is there")
    parser.add_argument(
        "--sample", metavar="FOLDER", help="copy the sample crawl with its recipe into FOLDER instead, to try things on"
    )
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="processes (default: one a core)")
    parser.set_defaults(run=run)


def run(given: argparse.Namespace) -> int:
    """Write a recipe for the files given, or copy the sample."""
    if given.sample is not None:
        return _sample(pathlib.Path(given.sample))
    if given.workers < 1:
        raise UserError(f"--workers must be at least 1; got {given.workers}")
    out = pathlib.Path(given.out)
    if out.is_dir():
        out = out / "recipe.toml"
    if out.exists() and not given.force:
        raise UserError(f"{out} is there already; name another file by --out, or replace it with --force")
    if not out.parent.is_dir():
        raise UserError(f"there is no folder {out.parent} for {out.name}; make it, or name another file by --out")
    found = survey(_paths(given.files or ["."], out), pathlib.Path(os.path.abspath(out.parent)))
    if not found.files:
        reasons = "; ".join(f"{name}: {why}" for name, why in found.left_out[:3])
        raise UserError(f"none of {len(found.left_out):,} files can be read: {reasons}")
    text, said = compose(found, given.like, given.workers, _name(out))
    try:
        out.write_text(text, "utf-8")
    except OSError as error:
        raise UserError(f"{out} cannot be written ({error.strerror}); name another file by --out") from error
    print(lines(visible("\n".join([*said, "", f"written to {out}; next: tokenmill run {out} --dry-run"]))))
    return 0


def _paths(asked: Sequence[str], out: pathlib.Path) -> list[str]:
    """Return the absolute paths that `asked` names, each once, the recipe itself not among them."""
    found: dict[str, str] = {}
    for path in asked:
        try:
            files = find_files(path, pathlib.Path.cwd(), is_meant).files
        except PathFault as fault:
            raise UserError(str(fault)) from fault
        for file in files:
            if "://" in file or os.path.abspath(file) != os.path.abspath(out):
                found.setdefault(identity_of(file), file)
    return list(found.values())


def _name(out: pathlib.Path) -> str:
    stem = out.stem if out.stem != "recipe" else pathlib.Path(os.path.abspath(out)).parent.name
    return re.sub(r"[^\w.+-]+", "-", stem).strip("-.") or "run"


def compose(found: Survey, like: str | None, workers: int, name: str) -> tuple[str, list[str]]:
    """Return a recipe for the files `found`, and what a person should hear of them."""
    with TryOut(found.inputs, workers) as tryout:
        first: list[dict[str, Any]] = [{"use": "extract"}] if found.has_pages else []
        looked = tryout.run([*first, {"use": "language", "min_score": 0.0}])
        like = like or _likely(looked.languages)
        blocks = _blocks(recipe_text(like), found, looked.languages)
        stages = tomllib.loads("\n\n".join(blocks)).get("stage", [])
        tried = tryout.run(stages)
    said = _said(found, looked, tried, like)
    head = [f"# Written by `tokenmill init` after {like}.", *(f"# {line}" for line in said)]
    parts = [_commented(head), f"name = {_toml(name)}", _input_table(found), *blocks, *_rest(found, tried)]
    if looked.failed > MANY_FAIL * looked.read:
        parts.append(
            f"# {looked.failed:,} of {looked.read:,} records could not be read; a run ends where a fifth fails, unless it is told:\n"
            "[limits]\nfailed_share = 1.0"
        )
    return "\n\n".join(parts) + "\n", said


def _likely(languages: Mapping[str, int]) -> str:
    """Return the pipeline to follow: FineWeb for what is mostly English, else FineWeb2."""
    known = {code: n for code, n in languages.items() if code not in NO_LANGUAGES}
    return "fineweb" if 2 * known.get("en", 0) >= sum(known.values()) else "fineweb2"


def _blocks(text: str, found: Survey, languages: Mapping[str, int]) -> list[str]:
    """Return the paragraphs of the published recipe `text` that fit the files: comments and stages."""
    paragraphs = text.strip().split("\n\n")
    head = next(n for n, paragraph in enumerate(paragraphs) if paragraph.startswith("[input]"))
    blocks = [re.sub(r"\n?name = .*", "", paragraphs[0]), *paragraphs[head + 1 :]]
    if not found.has_pages:
        blocks = [b for b in blocks if not re.search(r'^use = "extract"', b, re.MULTILINE)]
    wanted = [code for code, n in languages.items() if n * 50 >= sum(languages.values()) and code not in NO_LANGUAGES]
    keep = f"keep = {_toml(wanted)}" if wanted else "keep = []"
    return [block.replace("keep = []", keep) for block in blocks]


def _input_table(found: Survey) -> str:
    rows = [f"    {_entry(path, kind)}," for path, kind in patterns_of(found)]
    rows += [f"    # left out: {name}: {why}" for name, why in found.left_out[:SHOWN]]
    more = len(found.left_out) - SHOWN
    rows += [f"    # and {more:,} more files are left out"] if more > 0 else []
    lines = ["[input]", "paths = [", *(visible(row.replace("\n", " ")) for row in rows), "]"]
    if found.has_pages:
        lines.append('source = "web"')
    if any(kind.format.partition(".")[0] == "txt" and kind.documents == "file" for _, kind in found.files):
        lines.append(
            '# documents = "line"    # of text files; or "paragraph", what blank lines separate; else a file is one'
        )
    return "\n".join([*lines, "# limit = 1000    # a try-out: the first so many documents; or --limit 1000"])


def patterns_of(found: Survey) -> list[tuple[str, Kind]]:
    """Return paths for the files found: a pattern for those of a folder that end and read alike, else each by name."""
    groups: dict[tuple[str, str, tuple[tuple[str, str], ...], str], list[tuple[InputFile, Kind]]] = {}
    for file, kind in found.files:
        folder, _, name = file.path.rpartition("/")
        groups.setdefault((folder, _ending(name), kind.columns, kind.documents), []).append((file, kind))
    patterns: list[tuple[str, Kind]] = []
    for (folder, ending, _, _), members in groups.items():
        files, kind = [file for file, _ in members], members[0][1]
        pattern = f"{folder}/*{ending}"
        alike = len(files) > 2 and ending and "://" not in folder
        if alike and {identity_of(f) for f in find_files(pattern, pathlib.Path("/")).files} == {
            identity_of(f.path) for f in files
        }:
            shown_folder = files[0].name.rpartition("/")[0]
            patterns.append((f"{shown_folder}/*{ending}" if shown_folder else f"*{ending}", kind))
        else:
            patterns += [(_typed(file), kind) for file in files]
    return patterns


def _typed(file: InputFile) -> str:
    path = typed(file.path)
    return file.name if path == file.path else path


def _ending(name: str) -> str:
    match = re.search(r"((?:\.[A-Za-z]\w{0,7}){1,2})$", name)
    return match[1] if match else ""


def _entry(path: str, kind: Kind) -> str:
    said = [f"path = {_toml(path)}"]
    if kind.columns:
        said.append("columns = { " + ", ".join(f"{ours} = {_toml(theirs)}" for ours, theirs in kind.columns) + " }")
    if kind.documents != "file":
        said.append(f"documents = {_toml(kind.documents)}")
    return "{ " + ", ".join(said) + " }" if len(said) > 1 else _toml(path)


def _toml(value: Any) -> str:
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return tomli_w.dumps({"v": value}).partition("=")[2].strip()


def _commented(head: Sequence[str]) -> str:
    return "\n".join(visible(line.replace("\n", " ")) for line in head)


def _said(found: Survey, looked: Tried, tried: Tried, like: str) -> list[str]:
    """Return what was found, a sentence a line."""
    kinds: dict[str, int] = {}
    for _, kind in found.files:
        kinds[kind.format] = kinds.get(kind.format, 0) + 1
    said = [f"{_count(len(found.files), 'file')}: " + ", ".join(f"{n:,} {kind}" for kind, n in sorted(kinds.items()))]
    said += [_of_columns(kind) for kind in dict.fromkeys(k for _, k in found.files if k.columns)]
    if found.left_out:
        name, why = found.left_out[0]
        said.append(f"{_count(len(found.left_out), 'file')} left out, such as {name}: {why}")
    total = sum(looked.languages.values())
    shares = ", ".join(f"{code} {100 * n / total:.0f} %" for code, n in looked.languages.items() if n * 100 >= total)
    which = f"the first {looked.read:,} documents" if looked.read >= LOOK else _count(looked.read, "document")
    said.append(f"Languages of {which}: {shares or 'none'}")
    if looked.failed:
        said.append(f"{looked.failed:,} of them could not be read: see `tokenmill inspect RUN --kind failed`")
    gone = ", ".join(f"{stage} {n:,}" for stage, n in tried.dropped.items())
    said.append(f"Of {which} {tried.kept:,} stay" + (f"; dropped: {gone}" if gone else ""))
    if like != "fineweb2" and total and looked.languages.get("en", 0) < 0.05 * total:
        said.append(f"{like} keeps English alone, and hardly any is here: --like fineweb2 keeps the languages above")
    return said


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _of_columns(kind: Kind) -> str:
    named = ", ".join(f"{theirs!r} is taken for the {ours}" for ours, theirs in kind.columns)
    return f"In {kind.format} files {named}"


def _rest(found: Survey, tried: Tried) -> list[str]:
    """Return the tables behind the stages: tokenizers of a size that the text allows, and a plan to fill in."""
    sizes = vocab_sizes(_text_bytes(found, tried))
    rows = [
        "# Tokenizers of these sizes are trained on what is kept, and its tokens counted at each.",
        "[tokenizer]",
        f"vocab_sizes = {_toml(sizes or [8192, 32768])}",
    ]
    if not sizes:
        rows = [
            "# There is too little text here to train a tokenizer on. With more:",
            *(f"# {row}" for row in rows[1:]),
        ]
    plan = (
        "# What training on it takes: `tokenmill plan list` names models and accelerators.\n"
        '# [plan]\n# model = "llama3-8b"\n# gpu = "h100-sxm"\n# gpus = 64'
    )
    return ["\n".join(rows), plan]


def _text_bytes(found: Survey, tried: Tried) -> int:
    """Return about how many bytes of text the recipe will keep: counted where all was tried, else from the files' size."""
    if tried.read < LOOK:
        return tried.bytes_kept
    stored = sum(os.path.getsize(f.path) for f in found.inputs if "://" not in f.path)
    packed = sum(os.path.getsize(f.path) for f, k in found.files if "." in k.format or k.format == "parquet")
    return max(tried.bytes_kept, int((stored + 2 * packed) * tried.bytes_kept / max(1, tried.bytes_in)))


def vocab_sizes(text_bytes: int) -> list[int]:
    """Return three vocabulary sizes, powers of two, that `text_bytes` of text can give; none where that is too little.

    >>> vocab_sizes(10**6)
    [512, 1024, 2048]
    """
    largest = min(LARGEST, 1 << max(0, (text_bytes // BYTES_A_TOKEN).bit_length() - 1))
    return [size for size in (largest // 4, largest // 2, largest) if size >= 512]


def _sample(folder: pathlib.Path) -> int:
    package = pathlib.Path(__file__).resolve().parents[1]
    source = next(
        (p for p in (package / "sample", package.parent / "sample_data") if (p / "recipe.toml").is_file()), None
    )
    if source is None:
        raise UserError("this installation does not hold the sample; install tokenmill again")
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UserError(f"{folder} is there already; name a folder that is new or empty")
    try:
        for name in ("crawl", "evals"):
            shutil.copytree(source / name, folder / name)
        shutil.copyfile(source / "recipe.toml", folder / "recipe.toml")
    except OSError as error:
        raise UserError(f"the sample cannot be written to {folder} ({error.strerror}); name another folder") from error
    print(f"the sample is in {folder}; next: tokenmill run {folder}/recipe.toml", file=sys.stdout)
    return 0
