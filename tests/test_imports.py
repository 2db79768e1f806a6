"""Imports point down the list of packages, and never around in a circle."""

import ast
import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[1]
MAY_IMPORT = {
    "tokenmill": {"tokenmill", "stages", "tokenizer", "planner", "pipeline"},
    "stages": {"stages", "tokenizer", "planner", "pipeline"},
    "tokenizer": {"tokenizer", "pipeline"},
    "planner": {"planner"},
    "pipeline": {"pipeline"},
}
PLANNER_LAYERS = ["plan", "report", "estimate", "model", "facts", "units", "errors"]  # imports point down this list


def modules():
    for package in MAY_IMPORT:
        yield from sorted((ROOT / package).rglob("*.py"))


def name_of(path: pathlib.Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported(path: pathlib.Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            found |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def test_imports_point_down_the_list_of_packages():
    wrong = [
        f"{path.relative_to(ROOT)} imports {name}"
        for path in modules()
        for name in imported(path)
        if name.split(".")[0] in MAY_IMPORT and name.split(".")[0] not in MAY_IMPORT[path.relative_to(ROOT).parts[0]]
    ]
    assert wrong == []


def test_no_package_of_ours_imports_relatively():
    for path in modules():
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            assert not (isinstance(node, ast.ImportFrom) and node.level), f"{path.relative_to(ROOT)}:{node.lineno}"


def test_no_two_modules_import_each_other_not_even_inside_a_function_or_for_types_only():
    names = {name_of(path): path for path in modules()}
    edges = {name: {n for n in imported(path) if n in names and n != name} for name, path in names.items()}
    done: set[str] = set()

    def visit(name: str, path: tuple[str, ...]) -> None:
        assert name not in path, " -> ".join((*path[path.index(name) :], name))
        if name in done:
            return
        for other in sorted(edges[name]):
            visit(other, (*path, name))
        done.add(name)

    for name in sorted(edges):
        visit(name, ())


def test_the_planner_needs_nothing_but_the_standard_library_and_numpy_and_opens_no_file():
    import sys

    for path in sorted((ROOT / "planner").rglob("*.py")):
        tops = {name.split(".")[0] for name in imported(path)} - {"planner"}
        assert tops - set(sys.stdlib_module_names) <= {"numpy"}, path.relative_to(ROOT)
        assert tops & {"pathlib", "os", "io", "subprocess", "socket"} == set(), path.relative_to(ROOT)


def test_imports_inside_the_planner_point_down_its_folders():
    def layer(name: str) -> int:
        return PLANNER_LAYERS.index(name.split(".")[1])

    wrong = [
        f"{path.relative_to(ROOT)} imports {name}"
        for path in sorted((ROOT / "planner").rglob("*.py"))
        for name in imported(path)
        if name.startswith("planner.") and name_of(path) != "planner" and layer(name) < layer(name_of(path))
    ]
    assert wrong == []


def test_no_text_of_ours_names_a_place_on_a_machine():
    tracked = [p for p in ROOT.rglob("*") if p.suffix in {".py", ".md", ".toml", ".txt", ".tsv"} and "/." not in str(p)]
    forbidden = ["/wo" + "rk/", "/ro" + "ot/", "pypi" + ".org", "py" + "thonhosted"]
    for path in tracked:
        if path.relative_to(ROOT).parts[0] in {"runs", "build", "dist"}:
            continue
        text = path.read_text("utf-8", errors="replace")
        assert [word for word in forbidden if word in text] == [], path.relative_to(ROOT)
