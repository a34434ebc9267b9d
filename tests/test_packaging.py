"""The wheel holds what the folders hold: a subpackage left off the list works when editable and breaks for users."""

from __future__ import annotations

import re
import tomllib
from fnmatch import fnmatch
from importlib.metadata import version
from pathlib import Path

import attnc

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
SETUPTOOLS = PROJECT["tool"]["setuptools"]
ROOTS = {name: ROOT / folder for name, folder in SETUPTOOLS["package-dir"].items()}


def packages() -> dict[str, Path]:
    """Every folder with Python files below the mapped roots, by its import name."""
    found = {}
    for name, root in ROOTS.items():
        for file in root.rglob("*.py"):
            parts = file.parent.relative_to(root).parts
            found[".".join((name, *parts))] = file.parent
    return found


def test_every_subpackage_is_listed() -> None:
    assert sorted(SETUPTOOLS["packages"]) == sorted(packages())


def test_every_package_has_an_init() -> None:
    assert [str(folder) for folder in packages().values() if not (folder / "__init__.py").exists()] == []


def test_every_data_file_is_in_the_wheel() -> None:
    folders = {folder: name for name, folder in packages().items()}
    for root in ROOTS.values():
        for file in root.rglob("*"):
            inner = {part for part in file.relative_to(root).parts if part.startswith((".", "__pycache__"))}
            if file.is_dir() or file.suffix == ".py" or inner or file.parent.suffix == ".egg-info":
                continue
            owner = next(folder for folder in file.parents if folder in folders)
            inside = file.relative_to(owner).as_posix()
            patterns = SETUPTOOLS["package-data"].get(folders[owner], [])
            assert any(fnmatch(inside, pattern) for pattern in patterns), f"{file} is missing from package-data"


def test_one_version() -> None:
    assert version("attnc") == attnc.__version__
    assert f"## {attnc.__version__}" in (ROOT / "CHANGELOG.md").read_text()


def test_constraints_pin_what_we_ask_for() -> None:
    """`make` installs known versions of everything that pyproject.toml names."""
    project = PROJECT["project"]
    asked = [*project["dependencies"], *(line for extra in project["optional-dependencies"].values() for line in extra)]
    names = {re.split(r"[\[<>=]", line)[0] for line in asked} - {"attnc"}
    pinned = {line.split("==")[0] for line in (ROOT / "constraints.txt").read_text().splitlines() if "==" in line}
    assert names <= pinned
