"""The recipe: a TOML file read, checked to the last key, and turned into inputs and stages."""

from __future__ import annotations

import dataclasses
import glob
import pathlib
import re
import tomllib
import typing
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from pipeline.errors import InputError, RecipeError
from pipeline.readers import InputFile
from pipeline.registry import did_you_mean, stage_class
from pipeline.stage import Stage, StageFault
from pipeline.storage import expand, settings

_NAME = re.compile(r"(?!\.{1,2}$)[\w.+-](?:[\w .+-]*[\w.+-])?")
TABLES = (
    "name", "input", "stage", "tokenizer", "report", "tokens", "plan", "limits", "ledger", "output", "storage"
)  # fmt: skip
OUR_COLUMNS = ("id", "url", "text", "html", "source")


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What one document, and one worker, may take; and how input is cut. Part of a recipe as ``[limits]``."""

    cpu_seconds: float = 30.0
    """CPU time of one document in all stages of a pass together; beyond it the document is failed."""
    memory_bytes: int = 2_000_000_000
    """Resident memory of a worker; the document in work when it is exceeded twice is failed."""
    wall_seconds: float = 600.0
    """Wall time of one document: catches what waits without using CPU time."""
    record_bytes: int = 64_000_000
    """Size of one record after decompression; a larger one is failed."""
    split_bytes: int = 64_000_000
    """Size of the pieces that input files are cut into, as stored. Part of what a shard is, unlike workers."""
    batch_bytes: int = 8_000_000
    """Documents that go through the stages together, in bytes."""
    shard_bytes: int = 64_000_000
    """Text and ledger of one shard, about: a split that yields more becomes several, so that memory stays flat."""
    decision_seconds: float = 3600.0
    """Time of one task of a decision; beyond it the run ends."""
    failed_share: float = 0.2
    """A run in which more than this share of the documents fail, in reading or in a stage, ends in an error."""


@dataclass(frozen=True, kw_only=True)
class LedgerOptions:
    """What the ledger keeps of a removed document's text. Part of a recipe as ``[ledger]``."""

    text_characters: int = 1000
    """The first so many characters; 0 keeps none, -1 all."""


@dataclass(frozen=True, kw_only=True)
class OutputOptions:
    """What the final corpus looks like. Part of a recipe as ``[output]``."""

    shard_bytes: int = 256_000_000
    """Text in one file of ``data/``, about."""
    signals: bool = True
    """Write what stages measure of every document, kept or not, into ``signals/``: what-if, and analyse on a run, read it. A
    document that a rule set drops is then still measured by the rule sets that follow it directly."""


@dataclass(frozen=True)
class Recipe:
    """A recipe as read.

    Attributes:
        name: what the run is called.
        folder: what relative paths start from.
        inputs: the input files, in the order of the recipe, each glob sorted.
        stages: in order, with the place of each in the recipe file.
        tables: the tables that belong to others (`tokenizer`, `report`, `tokens`, `plan`), as written. ``[storage]`` holds for this
            process from when it is read: see `pipeline.storage.settings`.
        resolved: the whole recipe as a dictionary, overrides applied.
        file: where it was read from; None for one built in Python.
    """

    name: str
    folder: pathlib.Path
    inputs: tuple[InputFile, ...]
    stages: tuple[Stage, ...]
    limits: Limits = field(default_factory=Limits)
    ledger: LedgerOptions = field(default_factory=LedgerOptions)
    output: OutputOptions = field(default_factory=OutputOptions)
    tables: Mapping[str, Any] = field(default_factory=dict)
    resolved: Mapping[str, Any] = field(default_factory=dict)
    file: pathlib.Path | None = None


def load_recipe(path: str | pathlib.Path, overrides: Sequence[str] = ()) -> Recipe:
    """Read the recipe file at `path` with `overrides` such as ``language.min_score=0.5`` applied.

    Raises:
        RecipeError: anything that cannot work, with its place in the file.
    """
    path = pathlib.Path(path)
    try:
        table = tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise RecipeError(str(path), f"cannot be read ({error.strerror}); give the path of a recipe file") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise RecipeError(str(path), f"is not TOML: {error}") from error
    for override in overrides:
        apply_override(table, override)
    recipe = build_recipe(table, path.resolve().parent, default_name=path.stem)
    return dataclasses.replace(recipe, file=path.resolve())


def build_recipe(table: Mapping[str, Any], folder: pathlib.Path, default_name: str = "run") -> Recipe:
    """Return the recipe that the parsed TOML `table` describes; relative paths start from `folder`."""
    _known("", table, TABLES)
    name = table.get("name", default_name)
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise RecipeError("name", f"must be a name, not a path: letters, digits and - _ . + or blanks; got {name!r}")
    storage = table.get("storage", {})
    if fault := settings.fault_of(storage):
        raise RecipeError(f"storage.{fault[0]}".rstrip("."), fault[1])
    settings.configure(storage)
    stage_tables = table.get("stage", [])
    if not isinstance(stage_tables, list):
        raise RecipeError("stage", "write each stage as [[stage]] (two brackets)")
    return Recipe(
        name=name,
        folder=folder,
        inputs=_inputs(table.get("input"), folder),
        stages=tuple(build_stage(t, folder, f"stages[{i}]") for i, t in enumerate(stage_tables)),
        limits=_options(Limits, table.get("limits", {}), "limits"),
        ledger=_options(LedgerOptions, table.get("ledger", {}), "ledger"),
        output=_options(OutputOptions, table.get("output", {}), "output"),
        tables={key: dict(table[key]) for key in ("tokenizer", "report", "tokens", "plan") if key in table},
        resolved=dict(table),
    )


def build_stage(table: Mapping[str, Any], folder: pathlib.Path, place: str) -> Stage:
    """Return the stage that a ``[[stage]]`` table describes, its parameters checked."""
    use = table.get("use") if isinstance(table, dict) else None
    if not isinstance(use, str):
        raise RecipeError(f"{place}.use", 'name the stage: use = "…"; `tokenmill stages` lists them')
    try:
        kind = stage_class(use)
    except (LookupError, TypeError, ImportError, AttributeError) as error:
        raise RecipeError(f"{place}.use", str(error)) from error
    return stage_from(kind, {k: v for k, v in table.items() if k != "use"}, folder, place)


def stage_from(kind: type[Stage], parameters: Mapping[str, Any], folder: pathlib.Path, place: str) -> Stage:
    """Return a stage of class `kind` with `parameters` as a recipe gives them: globs found, types checked."""
    known = [f.name for f in dataclasses.fields(kind)]
    _known(place, parameters, known)
    values = dict(parameters)
    for key in kind.path_fields:
        if key in values:
            values[key] = _expanded(_globs(values[key], folder, f"{place}.{key}"), f"{place}.{key}")
    stage: Stage = _convert(kind, values, place)
    try:
        stage.check()
    except StageFault as fault:
        raise RecipeError(f"{place}.{fault.key}", fault.problem) from fault
    return stage


def _convert(kind: type, values: Mapping[str, Any], place: str) -> Any:
    """Return an instance of dataclass `kind`; each field converted on its own, so that a fault names its key."""
    hints = typing.get_type_hints(kind)
    converted = {}
    for key, value in values.items():
        try:
            converted[key] = msgspec.convert(value, hints[key])
        except msgspec.ValidationError as error:
            raise RecipeError(f"{place}.{key}", f"{error}; got {value!r}") from error
    missing = [f.name for f in dataclasses.fields(kind) if _required(f) and f.name not in converted]
    if missing:
        raise RecipeError(f"{place}.{missing[0]}", "is missing and has no default")
    return kind(**converted)


def _required(f: dataclasses.Field[Any]) -> bool:
    return f.default is dataclasses.MISSING and f.default_factory is dataclasses.MISSING


def options_from(kind: type, table: Any, place: str) -> Any:
    """Return an instance of dataclass `kind` as table `place` gives it. Raises RecipeError for keys and types it has not."""
    if not isinstance(table, dict):
        raise RecipeError(place, f"must be a table [{place}]")
    _known(place, table, [f.name for f in dataclasses.fields(kind)])
    return _convert(kind, table, place)


def _options(kind: type, table: Any, place: str) -> Any:
    options = options_from(kind, table, place)
    for key, value in dataclasses.asdict(options).items():
        if value < 0 and key != "text_characters":
            raise RecipeError(f"{place}.{key}", f"must not be negative; got {value}")
    for key in ("split_bytes", "batch_bytes", "record_bytes", "shard_bytes"):
        if getattr(options, key, 1) < 1:
            raise RecipeError(f"{place}.{key}", "must be at least 1")
    return options


def _known(place: str, table: Mapping[str, Any], known: Sequence[str]) -> None:
    for key in table:
        if key not in known:
            dotted = f"{place}.{key}" if place else key
            raise RecipeError(dotted, f"unknown{did_you_mean(key, known) or '; known: ' + ', '.join(known)}")


def _inputs(table: Any, folder: pathlib.Path) -> tuple[InputFile, ...]:
    if not isinstance(table, dict):
        raise RecipeError("input", 'is missing: write [input] with paths = ["crawl/*.warc.gz"]')
    _known("input", table, ("paths", "source", "columns"))
    paths = table.get("paths")
    if isinstance(paths, (str, dict)):
        paths = [paths]
    if not isinstance(paths, list) or not paths:
        raise RecipeError("input.paths", "give at least one path or glob")
    files: list[InputFile] = []
    for index, entry in enumerate(paths):
        place = f"input.paths[{index}]"
        if isinstance(entry, str):
            entry = {"path": entry}
        if not isinstance(entry, dict) or not isinstance(entry.get("path"), str):
            raise RecipeError(place, 'must be a path, or a table { path = "…", source = "…", columns = {…} }')
        _known(place, entry, ("path", "source", "columns", "base"))
        source = entry.get("source", table.get("source"))
        if source is not None and not isinstance(source, str):
            raise RecipeError(f"{place}.source", f"must be a text; got {source!r}")
        columns = _columns(entry.get("columns", table.get("columns", {})), f"{place}.columns")
        for found in _expanded(_globs(entry["path"], folder, place), place, entry.get("base", "")):
            files.append(InputFile(found, _shown(found, folder), source, columns))
    return tuple(files)


def _columns(table: Any, place: str) -> tuple[tuple[str, str], ...]:
    if not isinstance(table, dict) or not all(isinstance(v, str) for v in table.values()):
        raise RecipeError(place, 'must map our names to columns of the input: { text = "content" }')
    _known(place, table, OUR_COLUMNS)
    return tuple(sorted(table.items()))


def _globs(patterns: Any, folder: pathlib.Path, place: str) -> tuple[str, ...]:
    """Return the sorted absolute paths that match `patterns`; each must match something. URLs are taken as they are."""
    if isinstance(patterns, str):
        patterns = [patterns]
    if not isinstance(patterns, (list, tuple)) or not all(isinstance(p, str) for p in patterns):
        raise RecipeError(place, f"must be a path or a list of paths; got {patterns!r}")
    found: list[str] = []
    for pattern in patterns:
        if "://" in pattern:
            found.append(pattern)
            continue
        whole = str(folder / pattern)
        matches = sorted(p for p in glob.glob(whole, recursive=True) if pathlib.Path(p).is_file())
        if not matches and pathlib.Path(whole).is_file():
            matches = [whole]
        if not matches:
            raise RecipeError(place, f"nothing matches {pattern!r} below {folder}; mend the path")
        found.extend(matches)
    return tuple(found)


def _expanded(found: Sequence[str], place: str, base: Any = "") -> tuple[str, ...]:
    """Return `found` with patterns in buckets and lists of paths replaced by the files that they mean."""
    if not isinstance(base, str):
        raise RecipeError(
            f"{place}.base", f"must be a URL or path that the lines of a list are relative to; got {base!r}"
        )
    try:
        return tuple(expand(found, base))
    except InputError as error:
        raise RecipeError(place, str(error)) from error


def _shown(path: str, folder: pathlib.Path) -> str:
    try:
        return str(pathlib.PurePath(path).relative_to(folder))
    except ValueError:
        return path


def apply_override(table: dict[str, Any], override: str) -> None:
    """Apply ``stage.key=value`` to the parsed recipe `table`; the value is TOML, or a bare text."""
    target, equals, text = override.partition("=")
    owner, dot, key = target.strip().rpartition(".")
    if not (equals and dot and owner and key):
        raise RecipeError(f"--set {override}", "must be STAGE.KEY=VALUE, such as language.min_score=0.5")
    try:
        value = tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        value = text.strip()
    if owner in TABLES and owner != "stage":
        table.setdefault(owner, {})[key] = value
        return
    labels = stage_labels([str(t.get("use")) for t in table.get("stage", [])])
    if owner not in labels:
        known = [*labels, *[t for t in TABLES if t not in ("name", "stage")]]
        raise RecipeError(f"--set {override}", f"the recipe has no stage {owner!r}{did_you_mean(owner, known)}")
    table["stage"][labels.index(owner)][key] = value


def stage_labels(names: Sequence[str]) -> list[str]:
    """Return `names` made unique: the second ``c4`` is ``c4#2``. Ledger, tallies and --set use these."""
    seen: dict[str, int] = {}
    labels = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        labels.append(name if seen[name] == 1 else f"{name}#{seen[name]}")
    return labels
