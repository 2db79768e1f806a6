"""What a machine of a cluster has, looked at before the first task. Standard library only: it is sent there as it is, for
what it is to find may be that tokenmill is not there."""

from __future__ import annotations

import hashlib
import importlib.metadata
import importlib.util
import os
import pathlib
import platform
from typing import Any

PACKAGES = ("tokenmill", "stages", "tokenizer", "planner", "pipeline")


def about(libraries: list[str]) -> dict[str, str]:
    """Return version by name: of Python (its minor one), of tokenmill's code, and of `libraries`."""
    found = {"Python": ".".join(platform.python_version_tuple()[:2]), "tokenmill": code_version()}
    for name in libraries:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            found[name] = ""
    return found


def code_version() -> str:
    """Return version and digest of tokenmill's code as it is installed here; empty where it is not."""
    sha = hashlib.sha256()
    for package in PACKAGES:
        spec = importlib.util.find_spec(package)
        if spec is None or spec.origin is None:
            return ""
        folder = pathlib.Path(spec.origin).parent
        for file in sorted(folder.rglob("*.py")):
            sha.update(f"{package}/{file.relative_to(folder)}\n".encode() + file.read_bytes())
    try:
        version = importlib.metadata.version("tokenmill")
    except importlib.metadata.PackageNotFoundError:
        version = "?"
    return f"{version} ({sha.hexdigest()[:8]})"


def faults(wanted: dict[str, Any]) -> list[str]:
    """Return what is wrong with this machine, a line each; nothing where it can do the work.

    Args:
        wanted: ``versions`` as `about` gives them where the run was begun; ``files`` as (path, bytes); ``environ``, the
            variables that come along; ``modules`` to be found; ``folder`` and ``sign``: the run folder, and a file in it
            with its SHA-256.
    """
    here = about([name for name in wanted["versions"] if name not in ("Python", "tokenmill")])
    lines = []
    for name, version in wanted["versions"].items():
        if not here[name]:
            lines.append(f"{name} is not installed; install {version or 'it'}, as on the machine that began the run")
        elif here[name] != version:
            lines.append(f"{name} is {here[name]} there and {version} here; install the same")
    if lines:
        return lines
    lines += [
        f"module {name} cannot be imported; install it there"
        for name in wanted["modules"]
        if importlib.util.find_spec(name.split(".")[0]) is None
    ]
    for path, size in wanted["files"]:
        try:
            found = os.path.getsize(path)
        except OSError as error:
            lines.append(
                f"cannot read {path} ({error.strerror}); put it on a file system that all share, or in a bucket"
            )
            continue
        if found != size:
            lines.append(f"{path} has {found} bytes there and {size} here; the machines must see the same files")
    return lines or _of_folder(wanted)


def _of_folder(wanted: dict[str, Any]) -> list[str]:
    from pipeline.storage import Folder

    os.environ.update(wanted["environ"])
    folder, (name, digest) = Folder(wanted["folder"]), wanted["sign"]
    try:
        if hashlib.sha256(folder.get(name)).hexdigest() != digest:
            return [f"{folder.url}/{name} is another file there; the machines must see the same run folder"]
        folder.put("node-check#0", b"")
        folder.delete("node-check#0")
    except Exception as error:
        hint = "" if "://" in folder.url else "; put the run folder on a file system that all share, or in a bucket"
        return [f"{error}{hint}"]
    return []
