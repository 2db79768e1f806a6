"""What the code says of its own parts: the texts below the fields of a dataclass."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import textwrap
from functools import cache


def field_documents(kind: type) -> dict[str, str]:
    """Return the text that stands below each field of a dataclass and of its bases, by field name."""
    found: dict[str, str] = {}
    for base in reversed(kind.__mro__):
        if not dataclasses.is_dataclass(base):
            continue
        tree = class_of(base)
        for statement, after in zip(tree.body, tree.body[1:], strict=False):
            if (
                isinstance(statement, ast.AnnAssign)
                and isinstance(statement.target, ast.Name)
                and isinstance(after, ast.Expr)
                and isinstance(after.value, ast.Constant)
                and isinstance(after.value.value, str)
            ):
                found[statement.target.id] = inspect.cleandoc(after.value.value)
    return found


def class_of(kind: type) -> ast.ClassDef:
    """Return the syntax tree of a class."""
    return _class_of(kind)


@cache
def _class_of(kind: type) -> ast.ClassDef:
    tree = ast.parse(textwrap.dedent(inspect.getsource(kind))).body[0]
    if not isinstance(tree, ast.ClassDef):
        raise TypeError(f"the source of {kind.__qualname__} is not that of a class")
    return tree
