"""What can go wrong through no fault of ours, said so that a person can mend it."""

import gzip
import io

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
    """

    def __init__(self, place: str, problem: str):
        self.place = place
        self.problem = problem
        super().__init__(f"{place}: {problem}")

    def __reduce__(self) -> tuple[type, tuple[str, str]]:
        return type(self), (self.place, self.problem)


class InputError(UserError):
    """An input file that cannot be read at all: missing, not permitted, or not of the format its name says."""


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
