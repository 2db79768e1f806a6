"""A copy of trafilatura's modules of our own in this process, so that what we change in it nobody else meets.

The modules are loaded from the installed files a second time, under another name. Whoever else imports trafilatura
in the process gets the library as it is.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import inspect
import logging
import pathlib
import sys
import types
from collections.abc import Iterable
from typing import Any

NAME = "stages.extraction.own_trafilatura"
_MODULES = (
    "settings utils xpaths xml htmlprocessing baseline deduplication main_extractor readability_lxml external core"
)


class Modules(types.SimpleNamespace):
    """The modules of the copy, by name."""


def load_copy(name: str = NAME) -> Modules:
    """Return trafilatura's modules loaded anew under `name`; the package's own start-up is left out."""
    spec = importlib.util.find_spec("trafilatura")
    if spec is None or spec.submodule_search_locations is None:
        raise ModuleNotFoundError("trafilatura is not installed")
    for module in [m for m in sys.modules if m == name or m.startswith(f"{name}.")]:
        del sys.modules[module]
    package = types.ModuleType(name)
    package.__path__ = list(spec.submodule_search_locations)
    sys.modules[name] = package
    modules = Modules(**{part: importlib.import_module(f"{name}.{part}") for part in _MODULES.split()})
    logging.getLogger(name).setLevel(logging.CRITICAL)  # every page without text would be a line on the terminal
    return modules


def sources_digest(packages: Iterable[str]) -> str:
    """Return 16 hex digits for the source files of `packages`, none of which is imported."""
    sha = hashlib.sha256()
    for package in packages:
        spec = importlib.util.find_spec(package)
        for folder in (spec and spec.submodule_search_locations) or ():
            for file in sorted(pathlib.Path(folder).rglob("*.py")):
                sha.update(f"{package}/{file.relative_to(folder).as_posix()}\n".encode() + file.read_bytes())
    return sha.hexdigest()[:16]


def digest(thing: Any) -> str:
    """Return 16 hex digits for the source of a function or class, or for the expression of XPath objects."""
    if inspect.isfunction(thing) or inspect.isclass(thing) or inspect.ismethod(thing):
        text = inspect.getsource(thing)
    elif hasattr(thing, "cache_info"):
        text = inspect.getsource(thing.__wrapped__)
    else:
        text = "\n".join(x.path for x in (thing if isinstance(thing, list) else [thing]))
    return hashlib.sha256(text.encode()).hexdigest()[:16]
