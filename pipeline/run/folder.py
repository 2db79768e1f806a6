"""A run folder: whose it is, what state it is in, and what in it may be moved or removed.

Only what a run has made, and has written down that it made, is ever touched: other people's files and folders in a
run folder stay as they are.
"""

from __future__ import annotations

import contextlib
import pathlib
import re
import time
import tomllib
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any, TypeVar

import msgspec

from pipeline.errors import RecipeError, StorageError, UserError
from pipeline.recipe import Recipe
from pipeline.run.execution import FAILED, Execution
from pipeline.storage import Folder

T = TypeVar("T")
EDITION = 2
"""Raised when what a run folder looks like changes, so that an old one is not taken for new."""
MANIFEST, UNFINISHED, EARLIER = "manifest.json", "unfinished.json", "earlier"
OURS_BEFORE_ANYTHING = {UNFINISHED, "inputs.json", "tryout.json", "run.log", "status.json", "tasks.log"}
"""Files that a run which has not finished may leave beside its passes."""
PUBLISHED_FOLDERS = ("data", "signals", "tokenizer", "token_counts", "token_report", "tokens")
_PASS = re.compile(r"\d\d+-[A-Za-z0-9_.-]+-[0-9a-f]{16}")
_OBSERVED = re.compile(r"observed-.+-")


@dataclass
class Published:
    """One file that the run has put where people look.

    Attributes:
        made_from: stands for all that decided its content, where making it again is dear; else empty.
    """

    bytes: int
    sha256: str
    made_from: str = ""


@dataclass
class Manifest:
    """Content of ``manifest.json``: what the published files are, and what they were made from.

    Attributes:
        identity: stands for everything published.
        passes: folders of the passes that lead to it, in order.
        made: folders of all passes ever made in the run folder.
        files: every published file.
        overridden: places in `recipe` whose value does not come from the recipe file.
        executions: those of this run folder, the last the one that published.
    """

    edition: int
    name: str
    recipe_file: str
    identity: str
    recipe: dict[str, Any]
    stages: list[dict[str, Any]]
    passes: list[dict[str, Any]]
    inputs: list[dict[str, Any]]
    versions: dict[str, str]
    shards: int = 0
    made: list[str] = field(default_factory=list)
    files: dict[str, Published] = field(default_factory=dict)
    overridden: list[str] = field(default_factory=list)
    executions: list[Execution] = field(default_factory=list)


@dataclass
class Unfinished:
    """Content of ``unfinished.json``, which is there while a run is under way or has ended before its end.

    Attributes:
        state: ``running`` or ``failed``.
        passes, executions: as far as the run has come; see `Manifest`.
    """

    edition: int
    name: str
    recipe_file: str
    state: str
    error: str = ""
    passes: list[dict[str, Any]] = field(default_factory=list)
    made: list[str] = field(default_factory=list)
    executions: list[Execution] = field(default_factory=list)


def local_folder(path: str | pathlib.Path) -> Folder:
    """Return the folder at `path`: a URL as it is, a path on this machine made absolute."""
    text = str(path)
    return Folder(text if "://" in text else str(pathlib.Path(text).absolute()))


def read_manifest(out: Folder) -> Manifest | None:
    """Return the manifest of the finished run in `out`; None where none has finished."""
    return typed_file(out, MANIFEST, Manifest)


def read_unfinished(out: Folder) -> Unfinished | None:
    """Return how far a run has come that has not finished; None where there is none."""
    return typed_file(out, UNFINISHED, Unfinished)


def typed_file(out: Folder, name: str, kind: type[T]) -> T | None:
    """Return file `name` of the run folder as a `kind`, None where there is none. Raises for one that is not ours."""
    if not out.exists(name):
        return None
    data = out.get(name)
    try:
        about = msgspec.json.decode(data)
        if isinstance(about, dict) and about.get("edition") != EDITION:
            raise RecipeError(
                "--out",
                f"{out.url} was made by another edition of tokenmill ({name} says so); delete it, or choose another folder",
            )
        return msgspec.convert(about, kind)
    except (msgspec.DecodeError, msgspec.ValidationError) as error:
        raise StorageError(f"{out.url}/{name} is damaged ({error}); delete that file and run again") from error


def holds_run(out: Folder) -> bool:
    """Return whether `out` is the folder of a run, finished or not. Creates nothing."""
    path = out.path()
    return (path is None or path.is_dir()) and (out.exists(MANIFEST) or out.exists(UNFINISHED))


def must_exist(out: Folder) -> None:
    """Raise UserError unless `out` is a folder that holds a run, finished or not. Creates nothing."""
    path = out.path()
    if path is not None and not path.is_dir():
        what = "is a file, not the folder of a run" if path.exists() else "does not exist"
        raise UserError(f"{out.url} {what}; give the folder of a run")
    if not holds_run(out):
        raise UserError(f"{out.url} holds no run; give the folder of a run, such as runs/NAME")


def claim(out: Folder, recipe: Recipe, *, asked: bool) -> Unfinished:
    """Refuse a folder that belongs to another recipe or to nobody's run, and return the state to write.

    Args:
        asked: the user has named this folder; then a recipe of the same name elsewhere may go on in it.
    """
    for name in PUBLISHED_FOLDERS:
        path = out.path(name)
        if path is not None and path.is_symlink():
            raise UserError(f"{path} is a link to another folder, which a run would change; remove the link")
    for name in (MANIFEST, *sorted(OURS_BEFORE_ANYTHING)):
        path = out.path(name)
        if path is not None and path.is_dir():
            raise StorageError(f"{path} is a folder where a file belongs; remove it and run again")
    file = str(recipe.file or "")
    manifest, before = read_manifest(out), read_unfinished(out)
    for owner in (manifest, before):
        if owner is None:
            continue
        if owner.name != recipe.name:
            raise RecipeError(
                "--out", f"{out.url} belongs to recipe {owner.name!r}, not {recipe.name!r}; choose another folder"
            )
        if owner.recipe_file != file and not asked:
            raise RecipeError(
                "--out",
                f"{out.url} belongs to another recipe of this name, {owner.recipe_file}; give this one a name of its own, "
                "or name a folder by --out",
            )
    if manifest is None and before is None:
        others = [n for n in out.names() if n not in OURS_BEFORE_ANYTHING]
        if others and not (_lost_state(others) or _lost_manifest(out, others, recipe.name)):
            raise RecipeError(
                "--out", f"{out.url} is not empty ({others[0]}) and holds no run (no {MANIFEST}); choose another folder"
            )
    made = sorted({*(manifest.made if manifest else ()), *(before.made if before else ())})
    latest = before or manifest
    return Unfinished(EDITION, recipe.name, file, "running", made=made, executions=latest.executions if latest else [])


def _lost_state(names: list[str]) -> bool:
    """Return whether nothing but passes are there, as a first run leaves them: somebody has deleted its state."""
    return all(_PASS.fullmatch(name.partition("/")[0]) for name in names)


def _lost_manifest(out: Folder, names: list[str], name: str) -> bool:
    """Return whether `out` is the folder of a finished run of recipe `name` whose manifest somebody has deleted: its passes
    are found again, and what is published is written anew."""
    if "recipe.toml" not in names or not any(_PASS.fullmatch(file.partition("/")[0]) for file in names):
        return False
    try:
        return tomllib.loads(out.get("recipe.toml").decode()).get("name") == name
    except ValueError:
        return False


@contextlib.contextmanager
def noted(out: Folder, state: Unfinished) -> Iterator[None]:
    """Keep ``unfinished.json`` while the block runs: gone once it ends well, else saying why it ended."""
    try:
        yield
    except BaseException as error:
        state.state, state.error = "failed", f"{error}" or type(error).__name__
        for execution in state.executions[-1:]:
            execution.tell(FAILED)
        with contextlib.suppress(StorageError):
            out.put_json(UNFINISHED, asdict(state))
        raise
    out.delete(UNFINISHED)


def bring_back(out: Folder, folder: str) -> None:
    """Move pass `folder` back from among the earlier ones, if it is there."""
    place, kept = out.path(folder), out.path(f"{EARLIER}/{folder}")
    if place is not None and kept is not None and kept.is_dir() and not place.exists():
        kept.rename(place)


def put_away(out: Folder, current: set[str], made: list[str]) -> None:
    """Move passes that the recipe no longer makes to ``earlier/``, where they wait until the recipe goes back.

    In an object store, where nothing can be moved, they stay where they are.
    """
    root = out.path()
    if root is None:
        return
    for folder in made:
        place = root / folder
        if folder not in current and _PASS.fullmatch(folder) and place.is_dir() and not place.is_symlink():
            (root / EARLIER).mkdir(exist_ok=True)
            place.rename(root / EARLIER / folder)


@dataclass(frozen=True)
class Spare:
    """A folder that can be removed: a pass that the recipe no longer makes, or a decision that it no longer takes."""

    name: str
    bytes: int
    files: int
    age_seconds: float


def spare_folders(out: Folder) -> list[Spare]:
    """Return what `tokenmill clean` would free in a run folder."""
    manifest = read_manifest(out)
    if manifest is None:
        return []
    current = {d for p in manifest.passes for d in (*p.get("observed", ()), *p.get("decisions", ()))}
    steps = {p["folder"] for p in manifest.passes}
    there = set(out.children())
    found = [f"{EARLIER}/{name}" for name in out.children(EARLIER) if name in manifest.made]
    found += [name for name in manifest.made if name in there - steps and _PASS.fullmatch(name)]  # in an object store
    for step in sorted(steps):
        for observed in sorted(f"{step}/{name}" for name in out.children(step) if _OBSERVED.match(name)):
            if observed not in current:
                found.append(observed)
                continue
            decisions = (f"{observed}/{name}" for name in out.children(observed) if name.startswith("decision-"))
            found += sorted(decision for decision in decisions if decision not in current)
    spare = [_spare(out, name) for name in found]
    return [s for s in spare if s.files or out.path() is not None]  # some stores tell of folders that hold nothing


def _spare(out: Folder, name: str) -> Spare:
    heads = (out / name).heads()
    newest = max((head.modified for head in heads), default=time.time_ns()) / 1e9
    return Spare(name, sum(head.size for head in heads), len(heads), max(0.0, time.time() - newest))
