"""A function of one document as a stage: given in Python, or named in a recipe by file and function."""

from __future__ import annotations

import hashlib
import inspect
import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

from pipeline.documents import Document
from pipeline.stage import DocumentStage, Drop, Keep, StageFault, Verdict
from pipeline.storage import local_copy

Rule = Callable[[Document], Any]


def verdict_of(answer: Any, rule: str) -> Verdict:
    """Return what a function's answer means: None or True keeps the document, False drops it under the function's name,
    a text takes the place of the document's, `Keep` and `Drop` are as they are.

    Raises:
        TypeError: it answers something else.
    """
    if answer is None or answer is True:
        return None
    if answer is False:
        return Drop(rule, detail=f"{rule} answered False")
    if isinstance(answer, str):
        return Keep(text=answer)
    if isinstance(answer, (Keep, Drop)):
        return answer
    raise TypeError(
        f"{rule} answered a {type(answer).__name__}; answer True, False, None, a new text, or tokenmill's Keep or Drop"
    )


@dataclass(frozen=True, kw_only=True)
class FunctionStage(DocumentStage):
    """A Python function that is given one document and answers what becomes of it."""

    name: ClassVar[str] = "function"
    runs_code: ClassVar[bool] = True
    needs: ClassVar[tuple[str, ...]] = ()
    function: Rule
    """Answers True or None to keep the document, False to drop it, a text to replace its own, or Keep or Drop."""

    @property
    def counted_as(self) -> str:
        return _name(self.function)

    def identity(self) -> dict[str, Any]:
        """What tells it from another: its source, or its compiled code where there is no source."""
        return {"stage": self.counted_as, "only": list(self.only), "source": source_digest(self.function)}

    def judge(self, document: Document) -> Verdict:
        """Return what the function answers."""
        return verdict_of(self.function(document), self.counted_as)


def source_digest(function: Rule) -> str:
    """Return the SHA-256 of what a function does: its source, else its code and constants."""
    try:
        text = inspect.getsource(function)
    except (OSError, TypeError):
        code = getattr(function, "__code__", None)
        text = repr((code.co_code, code.co_consts, code.co_names)) if code else repr(function)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _name(function: Rule) -> str:
    name = getattr(function, "__name__", type(function).__name__)
    return "function" if name == "<lambda>" else name


@dataclass(frozen=True, kw_only=True)
class PythonStage(DocumentStage):
    """Ask a function in a Python file of your own about each document.

    The recipe then runs code of its own, which the run says once. The file belongs to the fingerprint: a change makes
    the stage run again. It may import what is installed, and nothing from its own folder.
    """

    name: ClassVar[str] = "python"
    runs_code: ClassVar[bool] = True
    published: ClassVar[str] = "a rule of your own"
    path_fields: ClassVar[tuple[str, ...]] = ("file",)
    needs: ClassVar[tuple[str, ...]] = ()
    file: tuple[str, ...]
    """The Python file, relative to the recipe."""
    function: str
    """A function in it of one argument, the document (`document.text`, `document.get("url")`). It answers True or None to
    keep it, False to drop it, a text to replace its own, or Keep or Drop of `pipeline.stage`."""

    def check(self) -> None:
        """Raise `StageFault` where the file cannot be run or has no such function."""
        if len(self.file) != 1:
            raise StageFault("file", f"names {len(self.file)} files; one Python file is wanted")
        if not self.function.isidentifier():
            raise StageFault("function", f"must be the name of a function; got {self.function!r}")
        try:
            _function(self.file[0], self.function)
        except Exception as error:
            raise StageFault("file" if not isinstance(error, LookupError) else "function", f"{error}") from error

    def resources(self) -> Mapping[str, str]:
        """The SHA-256 of the file."""
        return {"file": hashlib.sha256(local_copy(self.file[0]).read_bytes()).hexdigest()}

    def load(self) -> None:
        """Run the file, once in each worker."""
        _function(self.file[0], self.function)

    def judge(self, document: Document) -> Verdict:
        """Return what the function answers."""
        return verdict_of(_function(self.file[0], self.function)(document), self.function)


@lru_cache(maxsize=16)
def _function(path: str, name: str) -> Rule:
    """Return function `name` of the Python file at `path`, which is run under a name that nobody can import."""
    source = local_copy(path).read_text("utf-8-sig")
    module = types.ModuleType("recipe_code")
    module.__file__ = path
    try:
        exec(compile(source, path, "exec"), module.__dict__)
    except Exception as error:
        where = error.lineno if isinstance(error, SyntaxError) else _line(error, path)
        raise ValueError(f"{path}, line {where}: {type(error).__name__}: {error}") from error
    found = getattr(module, name, None)
    if not callable(found):
        known = ", ".join(n for n, v in vars(module).items() if inspect.isfunction(v)) or "none"
        raise LookupError(f"{path} has no function {name!r}; its functions: {known}")
    return found  # type: ignore[no-any-return]


def _line(error: BaseException, path: str) -> int | None:
    trace, line = error.__traceback__, None
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == path:
            line = trace.tb_lineno
        trace = trace.tb_next
    return line
