"""Builds the playground into a folder (argument): static files that any web server can hold. `make playground` runs it.

From npm (package-lock.json) come Pyodide and the editor, from PyPI (wheels.txt, numpy.txt) what attnc imports, each by
its hash. NUMPY_WHEEL=FILE names the wheel of NumPy for this Pyodide, where it is at hand.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path

import attnc

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
CACHE = ROOT / ".venv" / "playground"
LOCK = HERE / "node_modules" / "pyodide" / "pyodide-lock.json"
# Of attnc, what a page has no use for: processes, folders of weights, servers.
LEFT_OUT = ("cli", "hub", "checkpoints", "weights", "inspect", "probing")
NUMPY_LEFT_OUT = re.compile(r"/tests/|numpy/(f2py|distutils|testing/tests)/|\.pyi$|\.[ha]$")
GROUPS = (
    ("examples/*.attn", "Transformers"),
    ("examples/attentions/*.attn", "Attentions"),
    ("examples/**/*.attn", "Models"),
)


class BuildProblem(Exception):
    """What stands in the way, in a line or two."""


def main(out: Path) -> None:
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    wheels, numpy = _downloaded("wheels.txt"), _numpy()
    _run("node", "bundle.js", str(out))
    _pack({**_of_wheels(*wheels), **_of_attnc()}, out / "attnc.zip")
    _pack(_of_wheels(numpy), out / "numpy.zip")
    (out / "examples.json").write_text(json.dumps(list(examples())), encoding="utf-8")
    (out / "puzzles.json").write_text(json.dumps(list(puzzles())), encoding="utf-8")
    with (out / "LICENSES.txt").open("a", encoding="utf-8") as licences:
        licences.write(
            "".join(f"\n{'-' * 80}\n\n{title}\n\n{text.strip()}\n" for title, text in _licences([*wheels, numpy]))
        )
    _offline(out)
    size = sum(file.stat().st_size for file in out.rglob("*") if file.is_file())
    print(f"the playground: {out} ({size / 1e6:.0f} MB); try it with: {sys.executable} -m http.server -d {out}")


def _run(*command: str) -> None:
    if subprocess.run(command, cwd=HERE).returncode:
        raise BuildProblem(f"`{' '.join(command[:2])}` failed, and says why above")


def _downloaded(requirements: str) -> list[Path]:
    """The wheels of a list, from pip, which holds them to their hashes."""
    folder = CACHE / Path(requirements).stem
    wanted = re.findall(r"sha256:(\w+)", (HERE / requirements).read_text(encoding="utf-8"))
    if sorted(map(_hash, folder.glob("*.whl"))) != sorted(wanted):
        shutil.rmtree(folder, ignore_errors=True)
        options = ("--quiet", "--no-deps", "--only-binary=:all:", "--require-hashes")
        _run(sys.executable, "-m", "pip", "download", *options, "-r", requirements, "-d", str(folder))
    return sorted(folder.glob("*.whl"))


def _numpy() -> Path:
    """NumPy as Pyodide's makers built it, out of a package that holds it."""
    wanted = json.loads(LOCK.read_text(encoding="utf-8"))["packages"]["numpy"]
    name, digest = wanted["file_name"], wanted["sha256"]
    kept = CACHE / name
    if not (kept.exists() and _hash(kept) == digest):
        CACHE.mkdir(parents=True, exist_ok=True)
        if given := os.environ.get("NUMPY_WHEEL"):
            kept.write_bytes(Path(given).read_bytes())
        else:
            with zipfile.ZipFile(_downloaded("numpy.txt")[0]) as holder:
                kept.write_bytes(holder.read(next(each for each in holder.namelist() if each.endswith("/" + name))))
            shutil.rmtree(CACHE / "numpy")
        if _hash(kept) != digest:
            kept.unlink()
            raise BuildProblem(f"{name} is another one than Pyodide lists: its sha256 must be {digest}")
    return kept


def _hash(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def _pack(files: dict[str, bytes], target: Path) -> None:
    """Files by their names below site-packages, compiled."""
    staged = CACHE / "staged.zip"
    with zipfile.ZipFile(staged, "w") as packed:
        for name, content in files.items():
            packed.writestr(name, content)
    _run("node", "pack.js", str(staged), str(target))


def _of_wheels(*wheels: Path) -> dict[str, bytes]:
    found = {}
    for wheel in wheels:
        with zipfile.ZipFile(wheel) as packed:
            names = [name for name in packed.namelist() if not name.endswith("/") and not NUMPY_LEFT_OUT.search(name)]
            found.update({name: packed.read(name) for name in names})
    return found


def _of_attnc() -> dict[str, bytes]:
    folders = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"]["package-dir"]
    found = {}
    for package, folder in folders.items():
        for file in sorted((ROOT / folder).rglob("*")):
            within = file.relative_to(ROOT / folder)
            left_out = package == "attnc.zoo" or (package == "attnc" and within.parts[0] in LEFT_OUT)
            if file.is_file() and not left_out and "__pycache__" not in within.parts:
                found[f"{package.replace('.', '/')}/{within.as_posix()}"] = file.read_bytes()
    return found


def examples() -> Iterator[dict[str, str]]:
    """Every example that stands alone: a text in the page uses the standard library, and no other file."""
    seen = set[Path]()
    for pattern, group in GROUPS:
        for file in sorted(ROOT.glob(pattern)):
            if file in seen:
                continue
            seen.add(file)
            text = file.read_text(encoding="utf-8")
            if not any(found.severity.value == "error" for found in attnc.check(text)):
                said = re.match(r"# (.{3,60}?)(?: \(|[:,]|\.?$)", text, re.MULTILINE)
                title = said[1] if said else file.stem.replace("_", " ")
                yield {"name": file.relative_to(ROOT).as_posix(), "group": group, "title": title, "text": text}


def puzzles() -> Iterator[dict[str, str]]:
    """What the page shows of each puzzle, and its file, which only the judge reads."""
    for file in sorted((ROOT / "examples" / "puzzles").glob("*.toml")):
        text = file.read_text(encoding="utf-8")
        puzzle = tomllib.loads(text)
        shown = {key: puzzle[key].strip("\n") for key in ("title", "words", "hint", "model", "start")}
        yield {"name": file.stem, **shown, "file": text}


def _licences(wheels: list[Path]) -> Iterator[tuple[str, str]]:
    """Of attnc, of each wheel, of Pyodide and of the Python in it."""
    yield f"attnc {attnc.__version__}", (ROOT / "LICENSE").read_text(encoding="utf-8")
    for wheel in wheels:
        with zipfile.ZipFile(wheel) as packed:
            texts = [each for each in packed.namelist() if re.search(r"\.dist-info/.*(LICEN[CS]E|COPYING)[^/]*$", each)]
            if not texts:
                raise BuildProblem(f"{wheel.name} has no licence")
            yield " ".join(wheel.name.split("-")[:2]), "\n\n".join(packed.read(each).decode() for each in texts)
    version = json.loads(LOCK.read_text(encoding="utf-8"))["info"]
    yield (
        f"pyodide {version['version']}",
        "Mozilla Public License 2.0 (https://mozilla.org/MPL/2.0/), unchanged. Its source: the tag of this version at "
        "https://github.com/pyodide/pyodide.",
    )
    own = Path(sysconfig.get_path("stdlib")) / "LICENSE.txt"
    psf = (
        own.read_text(encoding="utf-8")
        if own.exists()
        else "Python Software Foundation License Version 2: https://docs.python.org/3/license.html"
    )
    yield f"CPython {version['python']}", psf


def _offline(out: Path) -> None:
    """The service worker is told which files there are, and is another one when they change."""
    files = sorted(file for file in out.rglob("*") if file.is_file() and file.name != "offline.js")
    whole = hashlib.sha256()
    for file in files:
        whole.update(file.relative_to(out).as_posix().encode() + file.read_bytes())
    names = ["./", *(file.relative_to(out).as_posix() for file in files)]
    worker = out / "offline.js"
    text = worker.read_text(encoding="utf-8").replace("__FILES__", json.dumps(names))
    worker.write_text(text.replace("__VERSION__", f"attnc-playground-{whole.hexdigest()[:16]}"), encoding="utf-8")


if __name__ == "__main__":
    try:
        main(Path(sys.argv[1]).resolve())
    except BuildProblem as problem:
        sys.exit(f"make playground: {problem}")
