"""What processes of our own import late, and what they do without though it is installed and libraries would import it.

polars and Numba take 0.2 s of CPU each to import, and the process that only drives a run needs neither: it builds stages,
whose modules name them, and calls no kernel. pyarrow imports pandas with the first array that it makes of a list, and Numba
imports SciPy's linear algebra with the first kernel that it loads; each costs 0.2 to 0.4 s of CPU in every process that
begins, and nothing of ours uses either.
"""

from __future__ import annotations

import contextlib
import importlib.util
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import update_wrapper
from importlib.abc import Loader
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

import pyarrow as pa

OURS = ("pipeline", "stages", "tokenizer", "planner", "tokenmill")
"""Packages whose functions become kernels late."""

_own = False


def own_process() -> None:
    """Say that this process runs a program of our own, and import late what such a one may: its caller is nobody else."""
    global _own
    _own = True
    imported_late()


def is_own_process() -> bool:
    """Tell whether `own_process` was said."""
    return _own


def imported_late() -> None:
    """Let polars and Numba be imported when something of theirs is first used, not by code that may never use it."""
    for name, proxy in (("polars", _Late), ("numba", _LateNumba)):
        if name not in sys.modules and (spec := importlib.util.find_spec(name)) is not None:
            sys.modules[name] = module = proxy(name, spec)
            sys.meta_path.insert(0, _Below(module))


class _Late(ModuleType):
    """Stands for a module until an attribute is asked for that it does not have, and hands on what the module has."""

    def __init__(self, name: str, spec: ModuleSpec):
        super().__init__(name)
        self.__file__ = spec.origin
        self.__path__: list[str] = []  # where its own modules are is for `_Below` to say
        self._module: ModuleType | None = None

    def __getattr__(self, name: str) -> Any:
        value = getattr(self.loaded(), name)
        setattr(self, name, value)
        return value

    def __reduce__(self) -> tuple[Any, ...]:
        """Travel as what it stands for: functions of files of users have it among their globals."""
        return importlib.import_module, (self.__name__,)

    def loaded(self) -> ModuleType:
        """Return the module itself."""
        if self._module is None:
            if sys.modules.get(self.__name__) is self:
                del sys.modules[self.__name__]
            self._module = importlib.import_module(self.__name__)
        return self._module


class _Below:
    """A finder of the modules below one that is late: whoever imports one of them imports it."""

    def __init__(self, module: _Late):
        self._module = module

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        """Load the module that `name` lies below, and find `name` in it, where it may be loaded by now."""
        if (
            not name.startswith(f"{self._module.__name__}.")
            or sys.modules.get(self._module.__name__) is not self._module
        ):
            return None
        path = self._module.loaded().__path__
        if (known := sys.modules.get(name)) is None or known.__spec__ is None:
            return PathFinder.find_spec(name, path)
        known.__spec__.loader = _Known(known, known.__spec__.loader)
        return known.__spec__


class _Known(Loader):
    """Loads a module that is there by leaving it as it is, once."""

    def __init__(self, module: ModuleType, loader: Loader | None):
        self._module, self._loader = module, loader

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Return the module."""
        return self._module

    def exec_module(self, module: ModuleType) -> None:
        """Give it back the loader it came from."""
        assert module.__spec__ is not None
        module.__spec__.loader = module.__loader__ = self._loader


class _LateNumba(_Late):
    """Numba, whose decorator need not be there for functions of ours to be marked: they become kernels when it is loaded."""

    def __init__(self, name: str, spec: ModuleSpec):
        super().__init__(name, spec)
        self._kernels: list[_Kernel] = []

    def njit(self, *given: Any, **options: Any) -> Any:
        """Return what ``numba.njit`` does, or for functions of ours a decorator that puts it off until Numba is loaded."""
        if self._module is not None or given:
            return self.loaded().njit(*given, **options)

        def mark(function: Callable[..., Any]) -> Any:
            if function.__module__.partition(".")[0] not in OURS:
                return self.loaded().njit(**options)(function)
            self._kernels.append(kernel := _Kernel(function, options, self.loaded))
            return kernel

        return mark

    def loaded(self) -> ModuleType:
        """Return the module itself."""
        if self._module is None:
            numba = super().loaded()
            made = {id(kernel): numba.njit(**kernel.options)(kernel.function) for kernel in self._kernels}
            for kernel in self._kernels:
                kernel.made = made[id(kernel)]
            for module in list(sys.modules.values()):  # kernels name each other by the globals of their modules
                for name, value in list(getattr(module, "__dict__", {}).items()):
                    if type(value) is _Kernel:
                        setattr(module, name, value.made)
        assert self._module is not None
        return self._module


class _Kernel:
    """A function that becomes a kernel when it is first called."""

    def __init__(self, function: Callable[..., Any], options: dict[str, Any], load: Callable[[], ModuleType]):
        self.function, self.options, self.made = function, options, None
        self._load = load
        update_wrapper(self, function)

    def __call__(self, *arguments: Any) -> Any:
        return self._there()(*arguments)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._there(), name)

    def __reduce__(self) -> tuple[Any, ...]:
        """Travel as the kernel."""
        return _itself, (self._there(),)

    def _there(self) -> Any:
        if self.made is None:
            self._load()
        return self.made


def _itself(value: Any) -> Any:
    return value


class _Refusal:
    """A finder of modules that says of some packages that they are not there."""

    def __init__(self, names: Sequence[str]):
        self._names = names

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        """Refuse the packages; leave all others to those who come next."""
        if name.partition(".")[0] in self._names:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return None


@contextlib.contextmanager
def kept_out(*names: str) -> Iterator[None]:
    """Let packages `names` be unknown to whoever imports them meanwhile, unless they are imported already."""
    refusal = _Refusal(names)
    sys.meta_path.insert(0, refusal)
    try:
        yield
    finally:
        sys.meta_path.remove(refusal)


def arrow_without_pandas() -> None:
    """Let pyarrow ask for pandas once, and not find it. It can then make nothing of pandas' own objects, so this is for
    processes in which no code of others runs."""
    with kept_out("pandas"):
        pa.array([0])


def without_both() -> None:
    """Do the same, and let Numba, where it is there, ask for SciPy: no kernel of ours calls linear algebra."""
    arrow_without_pandas()
    if "numba" in sys.modules:
        with kept_out("scipy"):
            importlib.import_module("numba.np.arraymath")  # asks for it
