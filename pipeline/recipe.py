"""The recipe: a TOML file read, checked to the last key, and turned into inputs and stages."""

from __future__ import annotations

import dataclasses
import math
import pathlib
import re
import tomllib
import types
import typing
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import msgspec

from pipeline.errors import RecipeError
from pipeline.input_names import without_places
from pipeline.prints import prints_aside
from pipeline.readers import InputFile
from pipeline.recipe_inputs import TryOut, paths_of, read_inputs
from pipeline.recipe_lines import located, text_of
from pipeline.registry import did_you_mean, known_keys, stage_class
from pipeline.stage import Stage, StageFault
from pipeline.storage import settings

_NAME = re.compile(r"(?!\.{1,2}$)[\w.+-](?:[\w .+-]*[\w.+-])?")
LEAST_MEMORY = 100_000_000
"""Bytes that a worker with the lightest of stages holds: the interpreter, numpy, Arrow."""
TABLES = ("name", "input", "stage", "tokenizer", "report", "tokens", "plan", "limits", "ledger", "output", "storage")


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

    format: Literal["parquet", "jsonl.zst"] = "parquet"
    """``parquet``, or ``jsonl.zst``: JSON lines, compressed."""
    shard_bytes: int = 256_000_000
    """Text in one file of ``data/``, about."""
    columns: tuple[str, ...] = ()
    """Columns of the documents in ``data/``, in this order; empty: all."""
    partition_by: Literal["", "source", "language"] = ""
    """A folder below ``data/`` for each ``source`` or ``language``, and as many below ``token_counts/``; empty: none."""
    absolute_paths: bool = False
    """Call inputs elsewhere than below the recipe by their absolute paths in ``data/``, ledger and report, not by their last
    parts."""
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
        tryout: how much of the input is read.
        patterns: see `pipeline.paths.Found`.
        notes: what the user should hear of the inputs.
        overridden: places whose value does not come from the file.
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
    tryout: TryOut = field(default_factory=TryOut)
    patterns: tuple[tuple[str, ...], ...] = ()
    notes: tuple[str, ...] = ()
    overridden: tuple[str, ...] = ()


def load_recipe(path: str | pathlib.Path, overrides: Sequence[str] = ()) -> Recipe:
    """Read the recipe file at `path` with `overrides` such as ``language.min_score=0.5`` applied.

    Raises:
        RecipeError: anything that cannot work, with its place in the file.
    """
    path = pathlib.Path(path)
    try:
        table = tomllib.loads(text_of(path))
    except OSError as error:
        raise RecipeError(str(path), f"cannot be read ({error.strerror}); give the path of a recipe file") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise RecipeError(str(path), f"is not TOML: {error}") from error
    overridden = tuple(apply_override(table, override) for override in overrides)
    with located(path, overridden):
        recipe = build_recipe(table, path.resolve().parent, default_name=path.stem)
    return dataclasses.replace(recipe, file=path.resolve(), overridden=overridden)


def build_recipe(table: Mapping[str, Any], folder: pathlib.Path, default_name: str = "run") -> Recipe:
    """Return the recipe that the parsed TOML `table` describes; relative paths start from `folder`."""
    known_keys("", table, TABLES)
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
    for key in ("tokenizer", "report", "plan"):
        if not isinstance(table.get(key, {}), dict):
            raise RecipeError(key, f"must be a table [{key}]; got {table[key]!r}")
    output = _options(OutputOptions, table.get("output", {}), "output")
    inputs = read_inputs(table.get("input"), folder)
    return Recipe(
        name=name,
        folder=folder,
        inputs=inputs.files if output.absolute_paths else without_places(inputs.files),
        stages=tuple(build_stage(t, folder, f"stages[{i}]") for i, t in enumerate(stage_tables)),
        limits=_options(Limits, table.get("limits", {}), "limits"),
        ledger=_options(LedgerOptions, table.get("ledger", {}), "ledger"),
        output=output,
        tables={key: dict(table[key]) for key in ("tokenizer", "report", "tokens", "plan") if key in table},
        resolved=dict(table),
        tryout=inputs.tryout,
        patterns=inputs.patterns,
        notes=inputs.notes,
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
    known_keys(place, parameters, known)
    values = dict(parameters)
    for key in kind.path_fields:
        if key in values:
            values[key] = paths_of(values[key], folder, f"{place}.{key}")
    stage: Stage = _convert(kind, values, place)
    try:
        with prints_aside():
            stage.check()
    except StageFault as fault:
        raise RecipeError(f"{place}.{fault.key}", fault.problem) from fault
    return stage


def _convert(kind: type, values: Mapping[str, Any], place: str) -> Any:
    """Return an instance of dataclass `kind`; each field converted on its own, so that a fault names its key."""
    hints = typing.get_type_hints(kind)
    converted = {}
    for key, value in values.items():
        converted[key] = _converted(value, hints[key], f"{place}.{key}")
    missing = [f.name for f in dataclasses.fields(kind) if _required(f) and f.name not in converted]
    if missing:
        raise RecipeError(f"{place}.{missing[0]}", "is missing and has no default")
    return kind(**converted)


def _converted(value: Any, hint: Any, place: str) -> Any:
    try:
        converted = msgspec.convert(value, hint)
    except (msgspec.ValidationError, OverflowError) as error:
        allowed = [word for word in _allowed(hint) if word]
        if allowed and isinstance(value, str):
            raise RecipeError(
                place, f"{value!r} is none of: {', '.join(map(str, allowed))}{did_you_mean(value, allowed)}"
            ) from error
        at = str(error).rpartition(" - at `$")[2].rstrip("`") if " - at `$" in str(error) else ""
        inner = f" (in {at.lstrip('.')})" if at else ""
        raise RecipeError(place, f"must be {in_words(hint)}{inner}; got {value!r}") from error
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if number and (value != value or not -(1 << 63) <= (value if isinstance(value, int) else 0) < 1 << 63):
        raise RecipeError(place, f"must be a number that fits 64 bits; got {value!r}")
    return converted


def _allowed(hint: Any) -> list[Any]:
    """Return the words that a value of type `hint` may be, itself or in a list; none where it is no choice."""
    if typing.get_origin(hint) is Literal:
        return list(typing.get_args(hint))
    return [word for part in typing.get_args(hint) if part is not Ellipsis for word in _allowed(part)]


PLAIN_WORDS = {int: "a whole number", float: "a number", str: "a text", bool: "true or false", type(None): "nothing"}


_UNIONS = (typing.Union, types.UnionType)


def in_words(hint: Any) -> str:
    """Return what a value of type `hint` is called in a recipe.

    >>> in_words(tuple[str, ...])
    'a list of texts'
    """
    if hint in PLAIN_WORDS:
        return PLAIN_WORDS[hint]
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is Literal:
        return "one of " + ", ".join(str(word) or '""' for word in arguments)
    if origin in _UNIONS:
        return " or ".join(in_words(part) for part in arguments if part is not type(None))
    if origin is tuple and arguments[-1:] == (Ellipsis,) and typing.get_origin(arguments[0]) in _UNIONS:
        return "a list, each " + in_words(arguments[0])
    if origin is tuple and arguments[-1:] == (Ellipsis,):
        return f"a list of {_several(in_words(arguments[0]))}"
    if origin is tuple:
        return "a list of " + " and ".join(in_words(part) for part in arguments)
    if origin is dict and arguments[1] is Any:
        return "a table"
    if origin is dict:
        return f"a table whose values are {_several(in_words(arguments[1]))}"
    return "a table" if hint is dict else str(getattr(hint, "__name__", hint))


def _several(words: str) -> str:
    if words in PLAIN_WORDS.values():
        return f"{words.removeprefix('a ')}s" if words.startswith("a ") else words
    return words.replace("a list of", "lists of", 1) if words.startswith("a list of") else words


def _required(f: dataclasses.Field[Any]) -> bool:
    return f.default is dataclasses.MISSING and f.default_factory is dataclasses.MISSING


def options_from(kind: type, table: Any, place: str) -> Any:
    """Return an instance of dataclass `kind` as table `place` gives it. Raises RecipeError for keys and types it has not."""
    if not isinstance(table, dict):
        raise RecipeError(place, f"must be a table [{place}]; got {table!r}")
    known_keys(place, table, [f.name for f in dataclasses.fields(kind)])
    return _convert(kind, table, place)


def _options(kind: type, table: Any, place: str) -> Any:
    options = options_from(kind, table, place)
    for key, value in dataclasses.asdict(options).items():
        if isinstance(value, (int, float)):
            _check_number(f"{place}.{key}", key, value)
    return options


def _check_number(place: str, key: str, value: float) -> None:
    if not math.isfinite(value):
        raise RecipeError(place, f"must be a number; got {value}")
    if value < (-1 if key == "text_characters" else 1 if key.endswith("_bytes") else 0):
        least = {"text_characters": "-1 (all) or more"}.get(
            key, "at least 1" if key.endswith("_bytes") else "0 or more"
        )
        raise RecipeError(place, f"must be {least}; got {value}")
    if key == "failed_share" and value > 1:
        raise RecipeError(place, f"must be a share from 0 to 1; got {value}")
    if key == "memory_bytes" and value < LEAST_MEMORY:
        problem = f"{value:,} is too little: a worker holds {LEAST_MEMORY:,} bytes before its first document"
        raise RecipeError(place, f"{problem}; give it 1,000,000,000 or more")


def apply_override(table: dict[str, Any], override: str) -> str:
    """Apply ``stage.key=value`` to the parsed recipe `table`, the value TOML or a bare text; return the place it is at."""
    target, equals, text = override.partition("=")
    owner, dot, key = target.strip().rpartition(".")
    if not (equals and dot and owner and key):
        raise RecipeError(f"--set {override}", "must be STAGE.KEY=VALUE, such as language.min_score=0.5")
    try:
        value = tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        value = text.strip()
    if owner in TABLES and owner != "stage":
        if not isinstance(table.setdefault(owner, {}), dict):
            raise RecipeError(f"--set {override}", f"{owner} is no table in this recipe")
        table[owner][key] = value
        return f"{owner}.{key}"
    stages = table.get("stage", [])
    if not isinstance(stages, list) or not all(isinstance(t, dict) for t in stages):
        raise RecipeError("stage", "write each stage as [[stage]] (two brackets)")
    labels = stage_labels([str(t.get("use")) for t in stages])
    if owner not in labels:
        known = [*labels, *[t for t in TABLES if t not in ("name", "stage")]]
        raise RecipeError(f"--set {override}", f"the recipe has no stage {owner!r}{did_you_mean(owner, known)}")
    stages[labels.index(owner)][key] = value
    return f"stages[{labels.index(owner)}].{key}"


def stage_labels(names: Sequence[str]) -> list[str]:
    """Return `names` made unique: the second ``c4`` is ``c4#2``. Ledger, tallies and --set use these."""
    seen: dict[str, int] = {}
    labels = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        labels.append(name if seen[name] == 1 else f"{name}#{seen[name]}")
    return labels
