"""What can go wrong through no fault of ours, said so that a person can mend it."""

import gzip
import io
import os
import sys
import sysconfig
import traceback

from pipeline.visible import visible


class UserError(Exception):
    """A fault in what the user gave: names the place, what is wrong and what to do. The command line ends with 2."""

    def __str__(self) -> str:
        return visible(super().__str__())  # names of files and pieces of documents are in it


class RecipeError(UserError):
    """A fault in a recipe.

    Args:
        place: path of the faulty key, such as ``stages[3].min_score`` or ``input.paths[0]``.
        problem: what is wrong and, where known, the remedy.
        where: file, line and stage, as a beginning of the message.
    """

    def __init__(self, place: str, problem: str, where: str = ""):
        self.place = place
        self.problem = problem
        self.where = where
        super().__init__(f"{where}{place}: {problem}")

    def __reduce__(self) -> tuple[type, tuple[str, str, str]]:
        return type(self), (self.place, self.problem, self.where)


class InputError(UserError):
    """An input file that cannot be read at all: missing, not permitted, or not of the format its name says."""


class BrokenInput(InputError):
    """An input file of which nothing at its start can be read. Among others it ends no run: its records fail."""


class StorageError(UserError):
    """The run folder cannot be written or read: full disk, no permission, or files changed by another program."""


class EnvironmentFault(UserError):
    """The machine, the installation or the storage failed, not a document: nothing is committed; mend it and run again."""


class AccountingError(Exception):
    """A tally that does not balance: read != kept + dropped + failed. A defect of ours or of a stage, never the user's."""


def is_environment(error: BaseException) -> bool:
    """Return whether `error` is a fault of the environment, never of a document.

    Two that Python derives from OSError are not: a damaged gzip member is the input's fault, an unsupported
    operation the code's.
    """
    if isinstance(error, (gzip.BadGzipFile, io.UnsupportedOperation)):
        return False
    return isinstance(error, (StorageError, EnvironmentFault, OSError, MemoryError, ImportError))


def said_of(error: BaseException) -> str:
    """Return what `error` says: of a person's fault its line, of any other its kind and where it was raised too."""
    if isinstance(error, UserError):
        return str(error)
    place = place_of(error)
    return f"{type(error).__name__}: {' '.join(str(error).split())[:1000]}" + (f" ({place})" if place else "")


def place_of(error: BaseException) -> str:
    """Return ``file:line, function`` of the code that raised `error`: the innermost that is neither a library's nor the
    engine's, else what the engine called. The file is as it lies below its entry of the module path, so that it reads
    the same on every machine."""
    libraries = tuple({sysconfig.get_path(name) + os.sep for name in ("stdlib", "platstdlib", "purelib", "platlib")})
    frames = traceback.extract_tb(error.__traceback__)
    theirs = [f for f in frames if not f.filename.startswith((_ENGINE, "<"))] or list(frames)
    if not theirs:
        return ""
    frame = next((f for f in reversed(theirs) if not f.filename.startswith(libraries)), theirs[0])
    file = os.path.abspath(frame.filename)
    entries = (os.path.abspath(entry) + os.sep for entry in sys.path)
    within = max(
        (entry for entry in entries if file.startswith(entry)), key=len, default=os.path.dirname(file) + os.sep
    )
    return f"{file.removeprefix(within)}:{frame.lineno}, {frame.name}"


_ENGINE = os.path.dirname(os.path.abspath(__file__)) + os.sep
