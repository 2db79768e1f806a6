"""Which files a path of a recipe or of the command line means.

What exists is taken as it is named: brackets, stars and blanks in real names mean themselves. Else ``~``, ``$VAR``,
``{a,b}``, ``*``, ``?``, ``[…]`` and ``**`` are what a shell makes of them; a folder means the files below it, and
``@list.txt`` the paths in a file, one a line. A file is found once, however many links lead to it.
"""

from __future__ import annotations

import fnmatch
import os
import pathlib
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

_MAGIC = re.compile(r"[*?\[]")
_VARIABLE = re.compile(r"\$(?:(\w+)|\{(\w+)\})")
_BRACES = re.compile(r"\{([^{}]*,[^{}]*)\}")
_ARCHIVE = re.compile(r"\.(?:tar(?:\.\w+)?|t[gbx]z2?|zip|7z|rar)$", re.IGNORECASE)
HIDDEN = (".", "_")
"""Below a folder, names that begin so are not meant: markers, caches, temporary files."""
NAMED = 3
"""Files named in a note, at most."""


class PathFault(ValueError):
    """A path that cannot be meant so: what is wrong, and the remedy."""


@dataclass
class Found:
    """What a path means.

    Attributes:
        files: absolute paths and URLs, in order, each once.
        notes: what the user should hear.
        patterns: absolute patterns that were looked for, each part a name or a pattern of one; of a folder ``**/*``.
    """

    files: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    patterns: list[tuple[str, ...]] = field(default_factory=list)


def find_files(path: str, folder: pathlib.Path, is_known: Callable[[str], bool] = lambda name: True) -> Found:
    """Return the files that `path`, relative to `folder`, means.

    Args:
        is_known: whether a file of this name, found below a folder that was named, is of a kind that is read.
    Raises:
        PathFault: nothing is meant.
    """
    found = Found()
    if not path or "\0" in path:
        raise PathFault(f"{path!r} is no path")
    _find(path, folder, is_known, found)
    seen: dict[str, str] = {}
    for file in found.files:
        seen.setdefault(identity_of(file), file)
    again = len(found.files) - len(seen)
    if again:
        found.notes.append(
            f"{shown(path)}: {again:,} more of its paths lead to a file that is read already; each is read once"
        )
    found.files = list(seen.values())
    return found


def identity_of(path: str) -> str:
    """Return what two paths to the same file have in common."""
    return path if "://" in path else os.path.realpath(path)


def shown(path: str) -> str:
    """Return `path` as text that can be printed and stored: bytes that are no UTF-8 as ``\\xff``."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def leads_into(patterns: Sequence[tuple[str, ...]], place: pathlib.Path) -> bool:
    """Return whether one of `patterns` would match a Parquet or JSON file that a run writes below folder `place`."""
    real = pathlib.Path(os.path.realpath(place))
    made = [("data", "part-00000.parquet"), ("01-read-0", "part-00000.parquet"), ("manifest.json",)]
    wanted = [(*base.parts, *name) for base in {place, real} for name in made]
    return any(_covers(pattern, parts) for pattern in patterns for parts in wanted)


def _covers(pattern: Sequence[str], parts: Sequence[str]) -> bool:
    if not pattern or not parts:
        return not pattern and not parts
    if pattern[0] == "**":
        return _covers(pattern[1:], parts) or _covers(pattern, parts[1:])
    same = pattern[0] == parts[0] or (_MAGIC.search(pattern[0]) and fnmatch.fnmatchcase(parts[0], pattern[0]))
    return bool(same) and _covers(pattern[1:], parts[1:])


def _find(path: str, folder: pathlib.Path, is_known: Callable[[str], bool], found: Found) -> None:
    if "://" in path:
        found.files.append(path)
        return
    if os.path.lexists(folder / path):
        _take(path, folder / path, is_known, found)
        return
    if path.startswith("@"):
        _of_list(path, folder, is_known, found)
        return
    opened = _VARIABLE.sub(_value, os.path.expanduser(path))
    matches: list[str] = []
    without: list[str] = []
    for one in _alternatives(opened):
        before = len(matches)
        if "://" in one:
            matches.append(one)
            continue
        whole = pathlib.Path(os.path.normpath(folder / one)) if ".." in one else folder / one
        found.patterns.append(whole.parts)
        for match in sorted(_walk(whole)):
            _take(path, pathlib.Path(match), is_known, found, matches)
        without += [shown(one)] if len(matches) == before else []
    if matches and without:
        more = f" and {len(without) - 1:,} more" if len(without) > 1 else ""
        found.notes.append(f"{shown(path)}: nothing matches {without[0]}{more}")
    if not matches:
        raise PathFault(_nothing(path, opened, folder))
    found.files += matches


def _take(
    path: str, place: pathlib.Path, is_known: Callable[[str], bool], found: Found, into: list[str] | None = None
) -> None:
    """Add `place`: a file, or what lies below a folder (matched by a pattern, only files count)."""
    if place.is_dir():
        if into is None:
            _below(path, place, is_known, found)
        return
    if not place.exists():
        if into is None:
            raise PathFault(f"{shown(path)} is a link to nothing")
        return
    if not place.is_file():
        if into is None:
            raise PathFault(f"{shown(path)} is no file (a pipe, a socket or a device): write it to a file first")
        return
    if into is None:
        found.patterns.append(pathlib.Path(os.path.abspath(place)).parts)
    (found.files if into is None else into).append(os.path.abspath(place))


def _below(path: str, place: pathlib.Path, is_known: Callable[[str], bool], found: Found) -> None:
    place = pathlib.Path(os.path.abspath(place))
    found.patterns.append((*place.parts, "**", "*"))
    files = sorted(f for f in _tree(str(place)) if os.path.isfile(f))
    known = [f for f in files if is_known(os.path.basename(f))]
    others = [f for f in files if not is_known(os.path.basename(f))]
    if not known:
        what = f"no file of a kind that is read ({_names(others, place)} there)" if others else "no file"
        packed = next((os.path.basename(f) for f in others if _ARCHIVE.search(f)), None)
        remedy = f"unpack {shown(packed)} first" if packed else "name the files, or a pattern of them"
        raise PathFault(f"the folder {shown(path)} holds {what}; {remedy}")
    if others:
        found.notes.append(f"{shown(path)}: {len(others):,} files of other kinds are left out: {_names(others, place)}")
    found.files += known


def _tree(top: str) -> Iterator[str]:
    """Yield the files below folder `top`, each real folder looked into once, however many links lead to it."""
    waiting, seen = [top], {os.path.realpath(top)}
    while waiting:
        folder = waiting.pop()
        for entry in _entries(folder):
            if entry.name.startswith(HIDDEN):
                continue
            if not entry.is_dir():
                yield entry.path
            elif (real := os.path.realpath(entry.path)) not in seen:
                seen.add(real)
                waiting.append(entry.path)


def _entries(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except NotADirectoryError:
        return []
    except OSError as error:
        raise PathFault(f"cannot look into {shown(folder)} ({error.strerror}); mend its permissions") from error


def _walk(whole: pathlib.Path) -> Iterator[str]:
    """Yield what matches the absolute pattern `whole`, part by part; a part that exists by its name means itself."""
    first, *parts = whole.parts
    places = [first]
    for part in parts:
        if part == "**":
            places = list(dict.fromkeys(p for place in places for p in (place, *_folders(place))))
            continue
        further: list[str] = []
        for place in places:
            literal = os.path.join(place, part)
            if os.path.lexists(literal):
                further.append(literal)
            elif _MAGIC.search(part) and os.path.isdir(place):
                names = (entry.name for entry in _entries(place))
                further += [os.path.join(place, n) for n in names if _matches(n, part)]
        places = further
    yield from places if parts and parts[-1] != "**" else (f for p in places for f in _tree(p))


def _matches(name: str, pattern: str) -> bool:
    return fnmatch.fnmatchcase(name, pattern) and (not name.startswith(".") or pattern.startswith("."))


def _folders(top: str) -> Iterator[str]:
    """Yield all folders below `top`, hidden ones not, each real one once."""
    waiting, seen = [top], {os.path.realpath(top)}
    while waiting:
        for entry in _entries(waiting.pop()):
            if entry.is_dir() and not entry.name.startswith(".") and (real := os.path.realpath(entry.path)) not in seen:
                seen.add(real)
                waiting.append(entry.path)
                yield entry.path


def _of_list(path: str, folder: pathlib.Path, is_known: Callable[[str], bool], found: Found) -> None:
    file = folder / pathlib.Path(path[1:]).expanduser()
    try:
        lines = os.fsdecode(file.read_bytes()).removeprefix("\ufeff").splitlines()
    except OSError as error:
        raise PathFault(f"the list {shown(path[1:])} cannot be read ({error.strerror}); mend the path") from error
    named = [(number, line.strip()) for number, line in enumerate(lines, 1) if line.strip()]
    named = [(number, line) for number, line in named if not line.startswith("#")]
    if not named:
        raise PathFault(f"the list {shown(path[1:])} names no file; give a path a line")
    for number, line in named:
        if line.startswith("@"):
            raise PathFault(f"{shown(path[1:])}, line {number}: a list cannot name another list")
        try:
            _find(line, file.parent, is_known, found)
        except PathFault as fault:
            raise PathFault(f"{shown(path[1:])}, line {number}: {fault}") from fault


def _value(match: re.Match[str]) -> str:
    name = match[1] or match[2]
    if name not in os.environ:
        raise PathFault(f"the environment has no variable {name}; set it, or write the path out")
    return os.environ[name]


def _alternatives(path: str) -> Iterator[str]:
    """Yield `path` for each way to choose from its ``{a,b}``."""
    braces = _BRACES.search(path)
    if braces is None:
        yield path
        return
    for choice in braces[1].split(","):
        yield from _alternatives(path[: braces.start()] + choice + path[braces.end() :])


def _nothing(path: str, opened: str, folder: pathlib.Path) -> str:
    said = f"{shown(path)!r}" if path == opened else f"{shown(path)!r}, which is {shown(opened)!r},"
    whole = folder / opened
    place = next(p for p in whole.parents if p.is_dir())
    missing = whole.relative_to(place).parts
    if len(missing) > 1 and not _MAGIC.search(missing[0]) and "{" not in missing[0]:
        return f"nothing matches {said}: there is no folder {shown(missing[0])!r} in {shown(str(place))}; mend the path"
    return f"nothing matches {said} below {shown(str(folder))}; mend the path"


def _names(files: Sequence[str], place: pathlib.Path) -> str:
    names = [shown(os.path.relpath(file, place)) for file in files[:NAMED]]
    return ", ".join(names) + (f" and {len(files) - NAMED:,} more" if len(files) > NAMED else "")
