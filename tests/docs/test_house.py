"""The drawing of the house, the table of the path and the list of rooms are those of the code."""

import ast
import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src/discreet"
DESIGN = (ROOT / "docs/explanation/design.md").read_text()
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text()
ROOMS = {path.name for path in SOURCE.iterdir() if (path / "__init__.py").exists()}

DRAWING = re.search(r"```text\n(.*?)```", DESIGN, re.DOTALL)[1]
FLOORS = [
    set(re.findall(r"(\w+)(?:/|\.py)", line)) for line in DRAWING.splitlines() if re.search(r"/|\.py", line)
]
PATH = re.findall(r"^\| `(\w+\.)?(\w+)` \| `([\w/]+\.py)` \|", DESIGN, re.MULTILINE)
CLASSES = re.findall(r"`(Query|Bounded|Plan|Receipt|Drawn|Released|FewRows|FanOuts|ChargedData)`", DESIGN)


def defined_in(file):
    """All functions and classes of a file, those of its classes too."""
    kinds = (ast.FunctionDef, ast.ClassDef)
    return {node.name for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, kinds)}


def test_the_drawing_has_the_floors_of_the_import_rule():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    layers = next(contract["layers"] for contract in settings["contracts"] if contract["type"] == "layers")
    assert [set(re.findall(r"\w+", layer)) for layer in layers] == FLOORS


def test_the_drawing_has_every_room():
    assert set().union(*FLOORS) > ROOMS


def test_every_room_is_described():
    descriptions = DESIGN[DESIGN.index("- `model`") : DESIGN.index("## The path")]
    assert [room for room in sorted(ROOMS) if f"`{room}`" not in descriptions] == []


def test_the_path_has_all_its_steps():
    assert len(PATH) == 11


@pytest.mark.parametrize(("owner", "name", "file"), PATH)
def test_each_step_of_the_path_is_where_the_table_says(owner, name, file):
    assert name in defined_in(SOURCE / file), f"{owner}{name}"


def test_the_classes_of_the_page_exist():
    names = set().union(*(defined_in(file) for file in SOURCE.rglob("*.py")))
    assert set(CLASSES) <= names
    assert "charge_and_draw" in defined_in(SOURCE / "curator/charging.py")


def test_contributing_lists_every_room():
    tree = re.search(r"```\n(src/discreet/.*?)```", CONTRIBUTING, re.DOTALL)[1]
    assert set(re.findall(r"^  (\w+)/", tree, re.MULTILINE)) == ROOMS


@pytest.mark.parametrize(
    "file", sorted(set(re.findall(r"`((?:\w+/)+\w*(?:\.py|\.md)?)`", CONTRIBUTING + DESIGN)))
)
def test_each_named_file_exists(file):
    assert (SOURCE / file).exists() or (ROOT / file).exists()
