"""Inputs elsewhere: patterns in buckets, lists of paths as Common Crawl publishes them, and copies that a library can open."""

from __future__ import annotations

import gzip
import hashlib
import os
import pathlib
import re
import zlib
from collections.abc import Iterable

import zstandard

from pipeline.errors import InputError
from pipeline.storage.folder import files_of, head_input, open_input
from pipeline.storage.hub import Dataset
from pipeline.storage.local import LocalFiles
from pipeline.storage.objects import hastily

SCHEMES = ("s3", "s3a", "gs", "az", "azure", "abfs", "abfss", "http", "https", "file")
_LIST = re.compile(r"(?:^|[._-])paths(?:\.txt)?(?:\.gz|\.zst)?$")
_MAGIC = re.compile(r"[*?\[]")


def is_pattern(path: str) -> bool:
    """Return whether `path` has a sign in it that a pattern has; a question mark may be a web address's own."""
    return _MAGIC.search(path) is not None


def is_list(path: str) -> bool:
    """Return whether `path` is called like a list of paths: ``warc.paths.gz``, ``paths.txt``, ``wet.paths``."""
    return _LIST.search(path.rsplit("/", 1)[-1]) is not None


def expand(found: Iterable[str], base: str = "") -> list[str]:
    """Return `found`, in its order, with each pattern in a bucket replaced by the objects that match it, sorted, and each
    list of paths by the paths in it, in their order.

    Args:
        found: paths on this machine, and URLs.
        base: what the lines of lists are relative to; where it is not said, see `listed`.
    Raises:
        InputError: nothing matches, the place cannot be reached, or a list holds no paths.
    """
    files: list[str] = []
    for path in found:
        matches = matching(path) if "://" in path else [path]
        for match in matches:
            files.extend(listed(match, base) if is_list(match) else [match])
    return files


def matching(url: str) -> list[str]:
    """Return the objects that the pattern `url` matches, sorted; `url` itself where it is no pattern. ``*`` and ``?`` stay
    within a folder, ``**`` leads through any number of them."""
    scheme = url.split("://", 1)[0]
    if scheme == "hf":
        return _of_dataset(url)
    if scheme not in SCHEMES:
        raise InputError(f"{url}: nothing is read by {scheme}://; known: {', '.join((*SCHEMES, 'hf'))}")
    if not is_pattern(url):
        return [url]
    if scheme in ("http", "https"):
        if "?" in url and not re.search(r"[*\[]", url):
            return [url]  # the question of a web address
        raise InputError(f"{url}: a web server does not list its files; name each, or a list of them (…paths.gz)")
    plain, glob = _cut(url)
    if plain.endswith(":/"):
        raise InputError(f"{url}: name the bucket; only what is in it may be a pattern")
    pattern = re.compile(_regex(glob))
    files = files_of(plain)
    reach(plain)
    try:
        found = sorted(name for name in files.names("") if pattern.fullmatch(name))
    except OSError as error:
        raise InputError(f"cannot list {plain} ({error})") from error
    if not found:
        raise InputError(f"nothing matches {url}; mend the path")
    return [f"{plain}/{name}" for name in found]


def _cut(path: str) -> tuple[str, str]:
    """Return the folder that pattern `path` begins with, and the rest of it."""
    found = _MAGIC.search(path)
    plain = path[: found.start() if found else len(path)].rpartition("/")[0]
    return plain, path[len(plain) :].lstrip("/")


def _of_dataset(url: str) -> list[str]:
    """Return the web addresses of the files of a dataset that the pattern `url` matches, sorted."""
    dataset, path = Dataset.of(url)
    if not _MAGIC.search(path):
        return [dataset.address(path)]
    plain = _cut(path)[0]
    pattern = re.compile(_regex(path))
    found = [name for name in dataset.names(plain) if pattern.fullmatch(name)]
    if not found:
        raise InputError(f"nothing matches {url}; mend the path")
    return [dataset.address(name) for name in found]


def _regex(glob: str) -> str:
    parts = {"**/": "(?:[^/]+/)*", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    cut = re.findall(r"\*\*/|\*\*|\*|\?|\[[!^]?\]?[^\]]*\]|.", glob, re.DOTALL)
    return "".join(
        parts.get(piece)
        or (
            piece.replace("[!", "[^", 1).replace("\\", "\\\\")
            if len(piece) > 2 and piece[0] == "["
            else re.escape(piece)
        )
        for piece in cut
    )


def listed(path: str, base: str = "") -> list[str]:
    """Return the paths in list `path`, a line each; blank lines and those that begin with ``#`` are none.

    A line that is a URL or an absolute path stands for itself. Others are relative to `base`; where none is given, to
    what lies above the folder that they begin with, if the list lies somewhere in that, as the lists of Common Crawl do,
    and else to the folder of the list.
    """
    if "://" in path:
        reach(path)
    with open_input(path) as file:
        data = file.read()
    try:
        if data[:2] == b"\x1f\x8b":
            data = gzip.decompress(data)
        elif data[:4] == b"\x28\xb5\x2f\xfd":
            data = zstandard.ZstdDecompressor().stream_reader(data).read()
        lines = [line.strip() for line in data.decode("utf-8-sig").splitlines()]
    except (OSError, EOFError, zlib.error, zstandard.ZstdError, UnicodeDecodeError) as error:
        raise InputError(f"{path} is called a list of paths but is none ({error}); mend it, or rename it") from error
    lines = [line for line in lines if line and not line.startswith("#")]
    if not lines:
        raise InputError(f"{path} is a list of paths and holds none; take it out of input.paths")
    if wrong := next((n for n, line in enumerate(lines, 1) if "\0" in line or len(line) > 4096), None):
        raise InputError(f"{path}, path {wrong}, is no path; mend it, or rename the file if it is no list")
    return [_of_line(line, path, base) for line in lines]


def _of_line(line: str, path: str, base: str) -> str:
    if "://" in line or line.startswith("/"):
        return line
    if base:
        return f"{base.rstrip('/')}/{line}"
    folder = path.rpartition("/")[0]
    above, begins, _ = f"{folder}/".partition(f"/{line.split('/', 1)[0]}/")
    return f"{above if begins else folder}/{line}"


def reach(url: str) -> None:
    """Ask the store of `url` whether it can be read, and be content with a short answer.

    Raises:
        InputError: it cannot be reached, knows no such bucket, or does not let us in.
    """
    with hastily():
        if url.startswith("http"):
            head_input(url)
            return
        try:
            files = files_of(url)
            if isinstance(files, LocalFiles):
                return
            list(files.children(".tokenmill-none"))
        except OSError as error:
            raise InputError(f"cannot read {url} ({error})") from error


def local_copy(path: str) -> pathlib.Path:
    """Return `path` as a file on this machine: itself, or a copy of an object that is kept in the user's cache folder, for
    libraries that open files themselves, as those of models do.

    Raises:
        InputError: it cannot be read.
    """
    if "://" not in path:
        return pathlib.Path(path)
    about = head_input(path)
    key = hashlib.sha256(f"{path} {about.size} {about.tag or about.modified}".encode()).hexdigest()[:32]
    own = (
        os.environ.get("TOKENMILL_CACHE") or pathlib.Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache") / "tokenmill"
    )
    folder = pathlib.Path(own).expanduser() / "copies" / key
    name = path.rsplit("/", 1)[-1]
    if not (folder / name).is_file():
        with open_input(path, 8 << 20) as source, LocalFiles(folder).writing(name) as copy:
            while block := source.read(8 << 20):
                copy.write(block)
    return folder / name
