"""Where compiled kernels are kept: beside their source, or, where that cannot be written, in a folder of this user's.

Numba keeps what it compiles beside the source if it may write there, and else in a folder below the user's home; where
there is none either, a decorated function cannot even be imported. So an installation that belongs to somebody else gets a
folder of its own for each user, which begins with what was compiled when it was installed (`python -m tokenmill.kernels`).
Standard library only, and hardly any time: this runs before anything is imported.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import pathlib
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator

PACKAGES = ("pipeline", "stages", "tokenizer")
VARIABLE = "NUMBA_CACHE_DIR"
TRIES = 10
"""Names tried among temporary files, which somebody else may have taken."""
_ROOT = pathlib.Path(__file__).resolve().parents[1]


def find_cache() -> None:
    """Name a folder that can be written by `VARIABLE`, if the installation cannot and nobody has named one."""
    if os.environ.get(VARIABLE) or _can_write(_ROOT / "pipeline" / "__pycache__") or _can_write_new():
        return
    for place in _places():
        with contextlib.suppress(OSError):
            folder = _own_folder(place)
            _begin_with_installed(folder)
            os.environ[VARIABLE] = str(folder)
            if "numba" in sys.modules:  # it has read its settings already
                sys.modules["numba"].config.CACHE_DIR = str(folder)
            return


def _can_write(folder: pathlib.Path) -> bool:
    return folder.is_dir() and os.access(folder, os.W_OK | os.X_OK)


def _can_write_new() -> bool:
    """Return whether the folder for what is compiled can be made."""
    return not (_ROOT / "pipeline" / "__pycache__").exists() and _can_write(_ROOT / "pipeline")


def _places() -> Iterator[pathlib.Path]:
    """Yield where a user may keep such things: the XDG base directory, the home, the folder for temporary files."""
    for base in (os.environ.get("XDG_CACHE_HOME"), os.path.join(os.path.expanduser("~"), ".cache")):
        if base and os.path.isabs(base):
            yield pathlib.Path(base) / "tokenmill"
    with contextlib.suppress(OSError):  # there is no such folder
        for number in range(TRIES):
            yield pathlib.Path(tempfile.gettempdir()) / f"tokenmill-kernels-{os.getuid()}-{number}"


def _own_folder(place: pathlib.Path) -> pathlib.Path:
    """Return the folder below `place` for kernels of just this source. Raises OSError where others could write to it: what
    lies there is run."""
    folder = place / f"kernels-{_source_digest()}"
    place.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder.mkdir(mode=0o700, exist_ok=True)
    for checked in (place, folder):
        about = checked.lstat()
        if not stat.S_ISDIR(about.st_mode) or about.st_uid != os.getuid() or about.st_mode & 0o022:
            raise PermissionError(f"{checked} belongs to others")
    tempfile.TemporaryFile(dir=folder).close()
    return folder


def _source_digest() -> str:
    """Return what stands for all source: Numba does not notice a change in a kernel that another kernel calls."""
    sha = hashlib.sha256()
    for package in PACKAGES:
        for file in sorted((_ROOT / package).rglob("*.py")):
            sha.update(file.read_bytes())
    return sha.hexdigest()[:16]


def _begin_with_installed(folder: pathlib.Path) -> None:
    """Copy what was compiled beside the source to where Numba looks for it, files that are there already excepted."""
    for package in PACKAGES:
        for file in (_ROOT / package).rglob("__pycache__/*.nb[ci]"):
            source = str(file.parents[1])  # named as Numba's `get_suitable_cache_subpath` does
            below = folder / f"{os.path.basename(source)}_{hashlib.sha1(source.encode()).hexdigest()}"
            if not (below / file.name).exists():
                below.mkdir(mode=0o700, exist_ok=True)
                staged = below / f"{file.name}.{os.getpid()}"
                shutil.copyfile(file, staged)
                os.replace(staged, below / file.name)
