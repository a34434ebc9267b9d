"""The wheel holds what the folders hold: a subpackage left off the list works when editable and breaks for users."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from fnmatch import fnmatch
from importlib.metadata import metadata, version
from pathlib import Path

import pytest

import attnc
from attnc.cli.main import main

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
SETUPTOOLS = PROJECT["tool"]["setuptools"]
ROOTS = {name: ROOT / folder for name, folder in SETUPTOOLS["package-dir"].items()}


def packages() -> dict[str, Path]:
    """Every folder with Python files below the mapped roots, by its import name; and the zoo, which is data."""
    found = {"attnc.zoo": ROOTS["attnc.zoo"]}
    for name, root in ROOTS.items():
        for file in root.rglob("*.py"):
            parts = file.parent.relative_to(root).parts
            found[".".join((name, *parts))] = file.parent
    return found


def test_every_subpackage_is_listed() -> None:
    assert sorted(SETUPTOOLS["packages"]) == sorted(packages())


def test_every_package_has_an_init() -> None:
    bare = [name for name, folder in packages().items() if not (folder / "__init__.py").exists()]
    assert bare == ["attnc.zoo"]


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


def test_what_messages_say_to_install_is_what_we_ask_for() -> None:
    """The names of packages that there are, with our lower bounds; not `attnc[torch]`, which no index has."""
    extras = {line for extra in PROJECT["project"]["optional-dependencies"].values() for line in extra}
    told: dict[str, list[str]] = {}
    for name, folder in packages().items():
        for file in folder.glob("*.py"):
            for said in re.findall(r"pip install ([^\n]*?)['\"`]*(?:\)|$| from)", file.read_text(), re.MULTILINE):
                told.setdefault(said.strip("\"'"), []).append(name)
    assert set(told) == {
        "torch>=2.6", "matplotlib>=3.9", "pygls>=2.1", "shtab>=1.13",
        "simpleeval>=1.0", "tokenizers>=0.20", "transformers>=5", "onnxscript>=0.7",
        "triton>=3.6",
    }  # fmt: skip
    assert set(told) <= extras


def test_nothing_installs_attnc_by_its_name() -> None:
    kinds = ("*.py", "*.md", "*.js", "*.json", "*.toml", "*.yml", "*.html")
    files = [
        file
        for kind in kinds
        for root in (
            *ROOTS.values(),
            ROOT / "docs",
            ROOT / "editors",
            ROOT / "tests",
            ROOT / "examples",
            ROOT / "bench",
        )
        for file in root.rglob(kind)
        if "node_modules" not in file.parts
    ]
    assert len(files) > 300
    wrong = re.compile(r"install (?:-\w+ )*[\"']?attnc\b(?!-)")
    for file in (ROOT / "README.md", ROOT / "PACKAGE.md", ROOT / "CONTRIBUTING.md", *files):
        assert not wrong.search(file.read_text(encoding="utf-8")), file


def test_the_page_of_the_package_holds_alone() -> None:
    """What a package index shows: no link or picture that is beside the repository only, no HTML that it would drop."""
    assert PROJECT["project"]["readme"] == "PACKAGE.md"
    page = (ROOT / "PACKAGE.md").read_text(encoding="utf-8")
    targets = re.findall(
        r"\]\(([^)]*)\)|\]:\s*(\S+)|(?:src|href)=[\"']([^\"']*)", re.sub(r"```.*?```", "", page, flags=re.S)
    )
    assert [target for found in targets for target in found if target and not target.startswith("https://")] == []
    assert "![" not in page
    assert not re.search(r"^<", page, re.MULTILINE)
    assert metadata("attnc")["Description-Content-Type"] == "text/markdown"


def test_classifiers_are_those_of_the_versions_that_run_it() -> None:
    given = PROJECT["project"]["classifiers"]
    versions = [line.rpartition(" ")[2] for line in given if re.fullmatch(r".*Python :: 3\.\d+", line)]
    assert f">={versions[0]}" == PROJECT["project"]["requires-python"]
    readme = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    ci, *others = versions
    assert f"CI runs with Python {ci} " in readme
    assert f"tried by hand with Python {' and '.join(others)}" in readme
    assert f"{sys.version_info.major}.{sys.version_info.minor}" in versions
    assert given == sorted(given)


def test_the_console_script_and_the_module_are_one() -> None:
    assert PROJECT["project"]["scripts"] == {"attnc": "attnc.__main__:entry"}
    help = [
        subprocess.run([sys.executable, "-m", "attnc", *words], capture_output=True, text=True).stdout
        for words in ([], ["-h"])
    ]
    assert help[0] == help[1]
    assert help[0].startswith("usage: attnc ")


# -- hooks for pre-commit

UGLY = "depth  model=8#size\nwidth seq\nblock f(x: [seq, model]) -> [seq, model] {\n    return tanh(x)\n}\n"


def hooks() -> dict[str, dict[str, str]]:
    yaml = pytest.importorskip("yaml")
    return {hook["id"]: hook for hook in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())}


def test_hooks_are_commands_that_there_are(tmp_path: Path) -> None:
    found = hooks()
    assert set(found) == {"attnc-check", "attnc-fmt"}
    assert f"`{'`, and `'.join(sorted(found))}`" in (ROOT / "docs/cli.md").read_text(encoding="utf-8")
    good, bad = tmp_path / "a.attn", tmp_path / "b.attn"
    good.write_text(UGLY)
    bad.write_text(UGLY.replace("tanh", "tnh"))
    for hook in found.values():
        assert hook["language"] == "python"
        assert re.search(hook["files"], "specs/a.attn")
        assert not re.search(hook["files"], "specs/a.attn.md")

    def status(hook: str, *files: Path) -> int:
        program, *words = found[hook]["entry"].split()
        assert program in PROJECT["project"]["scripts"]
        return main([*words, *map(str, files)])

    assert status("attnc-check", good) == 0
    assert status("attnc-check", good, bad) == 1
    assert status("attnc-fmt", good, bad) == 0
    assert good.read_text().startswith("depth model = 8  # size\n")
