"""The house stays one that a newcomer can read: one name one meaning, no folder cycles, small files."""

import ast
import re
from collections import defaultdict
from functools import cache
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "discreet"
FILES = sorted(SOURCE.rglob("*.py"))
MOST_LINES_OF_A_FILE, MOST_LINES_OF_A_FUNCTION, MOST_MODULES = 400, 60, 15

LARGE_FOLDERS = {
    "answers": "one file for each way in which an answer is shown or read",
    "aggregates": "one file for each aggregate, and for what they share",
    "audit": "one file for the claims of each part of the house, and for each way to check them",
    "apps/views": "one file for each thing that is shown",
    "curator": "one file for each thing that it can be asked for, and for each step that these share",
    "model": "the nouns that all others speak of",
    "noise": "one file for each mechanism, and for what they share",
}
"""Folders with more modules than a reader takes in at once, and why."""

pytestmark = pytest.mark.xdist_group("house")  # one worker reads it all


@cache
def modules():
    return {path: ast.parse(path.read_text()) for path in FILES}


def dotted(path):
    parts = ("discreet", *path.relative_to(SOURCE).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def folder(path):
    return ".".join(("discreet", *path.relative_to(SOURCE).parent.parts))


def type_names(tree):
    """Classes, and aliases of types, of a module."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            yield node.name
    for node in tree.body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        name = getattr(targets[0], "id", "").lstrip("_")
        constant = isinstance(getattr(node, "value", None), ast.Constant)
        named = name[:1].isupper() and not name.isupper()
        if isinstance(node, ast.Assign | ast.AnnAssign) and named and not constant:
            yield name


def test_every_type_name_has_one_meaning():
    found = defaultdict(list)
    for path, tree in modules().items():
        for name in type_names(tree):
            found[name.lstrip("_")].append(dotted(path))
    assert {name: places for name, places in found.items() if len(places) > 1} == {}


def imports(tree, known):
    """The modules of ours that a module names, also inside of functions."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("discreet"):
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                yield known.get(whole) or known[node.module]
        elif isinstance(node, ast.Import):
            yield from (known[alias.name] for alias in node.names if alias.name.startswith("discreet"))


def folder_graph():
    known = {dotted(path): path for path in FILES}
    graph = defaultdict(set)
    for path, tree in modules().items():
        graph[folder(path)] |= {folder(each) for each in imports(tree, known)}
    graph.pop("discreet")  # what the package offers, and errors, which all others raise
    return {name: near - {name, "discreet"} for name, near in graph.items()}


def test_no_folders_import_each_other_in_a_circle():
    graph = folder_graph()
    while free := [name for name, near in graph.items() if not near & graph.keys()]:
        for name in free:
            del graph[name]
    assert {name: sorted(near & graph.keys()) for name, near in graph.items()} == {}


def test_a_large_folder_has_a_reason():
    counts = defaultdict(int)
    for path in FILES:
        counts[path.parent.relative_to(SOURCE).as_posix()] += path.name != "__init__.py"
    large = {name for name, count in counts.items() if count > MOST_MODULES}
    assert large == LARGE_FOLDERS.keys()


@pytest.mark.parametrize("path", FILES, ids=dotted)
def test_files_and_functions_fit_a_reader(path):
    assert len(path.read_text().splitlines()) <= MOST_LINES_OF_A_FILE
    for node in ast.walk(modules()[path]):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = node.end_lineno - node.lineno + 1
            assert length <= MOST_LINES_OF_A_FUNCTION, node.name


def test_every_folder_says_what_it_is_for():
    silent = [
        dotted(path)
        for path, tree in modules().items()
        if path.name == "__init__.py" and not ast.get_docstring(tree)
    ]
    assert silent == []


@pytest.mark.parametrize("path", [path for path in FILES if path.name == "__init__.py"], ids=dotted)
def test_what_a_folder_lists_is_in_it(path):
    """The table in its docstring: names, two spaces or more, and what they are for."""
    for line in (ast.get_docstring(modules()[path]) or "").splitlines()[1:]:
        listed = re.match(r"((?:\w+/?(?:, )?)+) {2,}\S", line)
        for name in re.findall(r"\w+", listed[1]) if listed else ():
            assert (path.parent / name).is_dir() or (path.parent / f"{name}.py").exists(), name
