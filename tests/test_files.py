"""What `attnc compile` writes: files that run in a folder of their own, where there is no attnc."""

from __future__ import annotations

import ast
import importlib
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import attnc
from attnc.backends.files.code import Library, version_of_runtime
from attnc.backends.numpy.module import NumpyEmitter
from attnc.backends.text.carried import helpers
from attnc.backends.torch.module import TorchEmitter
from attnc.cli.main import main
from attnc.cli.output import CLEAN, COULD_NOT_RUN
from tests.backends.test_any_name import ISSUE, decoder

SPEC = """\
use std.attention: multihead, model, heads

width source
width seq <= 32
width past like seq
depth vocab = 11, model = 8, heads = 2
const layers = 2

# Reads `source_ids`, and goes on with `ids`.
model translator(source_ids: vocab[source], ids: vocab[seq]) -> [seq, vocab] causal seq {
    param E: [vocab, model] ~ normal(1)
    memory = E[vocab = source_ids]
    x = E[vocab = ids]
    repeat layers {
        x = x + multihead.near[seq, past](x, x[seq as past], past <= seq and seq - past < 4)
        x = x + multihead.cross[seq, source](x, memory)
    }
    return dot[model](layernorm.last[model](x), E)
}

model mapped(x: [seq, model]) -> [seq, model] {
    return relu(linear.map[model -> model](x))
}
"""
BACKENDS = ("torch", "numpy")
both = pytest.mark.parametrize("backend", BACKENDS)
LIBRARIES: dict[str, Library] = {"torch": TorchEmitter.library, "numpy": NumpyEmitter.library}
IDS, SOURCE = np.array([[1, 2, 3, 4, 5, 6]]), np.array([[7, 8, 9]])
# A process of its own, in which attnc cannot be imported.
RUN = """
import runpy, sys
sys.modules["attnc"] = None
sys.path.insert(0, ".")
import numpy as np
weights = dict(np.load("weights.npz"))
ids, source = np.array([[1, 2, 3, 4, 5, 6]]), np.array([[7, 8, 9]])
made = runpy.run_path(sys.argv[1])
steps = runpy.run_path(sys.argv[2])
if sys.argv[3] == "torch":
    import torch
    net = made["Translator"]().double()
    net.load_state_dict({name: torch.from_numpy(x) for name, x in weights.items()})
    ids, source = torch.from_numpy(ids), torch.from_numpy(source)
    whole = net.eval()(source, ids).detach().numpy()
else:
    net = weights
    whole = made["translator"](net, source, ids)
cache = steps["prepare"](net, source)
given = [np.asarray(steps["step"](net, ids[:, i : i + 1], cache)) for i in range(ids.shape[1])]
new = steps["generate"](net, ids[0, :3], 5, source_ids=source[0])
drawn = steps["generate"](net, ids[0, :3], 5, source_ids=source[0], temperature=1.0, seed=3)
best = steps["generate"](net, ids[0, :3], 5, source_ids=source[0], beams=2)
streamed = [int(x) for x in steps["stream"](net, ids[0, :3], 5, source_ids=source[0])]
if sys.argv[3] == "torch":
    steps["lay_out_for_decoding"](net)
    assert steps["generate"](net, ids[0, :3], 5, source_ids=source[0]).tolist() == new.tolist()
assert not [name for name in sys.modules if name.startswith("attnc") and not name.startswith("attnc_runtime_")
            and sys.modules[name] is not None]
np.savez("found.npz", whole=whole, steps=np.concatenate(given, 1), new=new, drawn=drawn, best=best, streamed=streamed)
"""


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "spec.attn").write_text(SPEC)
    return tmp_path


def compile_(*args: str, name: str = "translator") -> int:
    return main(["compile", f"spec.attn:{name}", *args])


def names(place: Path) -> set[str]:
    return {path.name for path in place.iterdir()} - {"spec.attn"}


def says(capsys: pytest.CaptureFixture[str], *args: str, name: str = "translator") -> str:
    """It must fail with one line on stderr."""
    before = {path: path.read_bytes() for path in Path().iterdir() if path.is_file()}
    assert compile_(*args, name=name) == COULD_NOT_RUN
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1 and err.startswith("attnc: ")
    assert {path: path.read_bytes() for path in Path().iterdir() if path.is_file()} == before
    return err


def expected(backend: str) -> dict[str, Any]:
    model = attnc.loads(SPEC).model("translator")
    net: Any = (
        model.torch(seed=5, dtype="float64").eval() if backend == "torch" else model.numpy(seed=5, dtype="float64")
    )
    like: Callable[[Any], Any] = torch.from_numpy if backend == "torch" else np.asarray
    weights = (
        {name: np.asarray(x.detach()) for name, x in net.state_dict().items()} if backend == "torch" else net.weights
    )
    np.savez("weights.npz", **weights)
    given = {"source_ids": like(SOURCE[0])}
    whole = net(like(SOURCE), like(IDS))
    return {
        "whole": np.asarray(whole.detach() if backend == "torch" else whole),
        "new": np.asarray(net.generate(like(IDS[0, :3]), 5, **given)),
        "drawn": np.asarray(net.generate(like(IDS[0, :3]), 5, temperature=1.0, seed=3, **given)),
        "best": np.asarray(net.generate(like(IDS[0, :3]), 5, beams=2, **given)),
    }


def run_apart(model: str, steps: str, backend: str) -> None:
    """What the files give, in a process without attnc, is what the model gives here."""
    right = expected(backend)
    command = [sys.executable, "-I", "-c", RUN, model, steps, backend]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    found = dict(np.load("found.npz"))
    for name, x in right.items():
        np.testing.assert_allclose(found[name], x, rtol=1e-10, atol=1e-10, err_msg=name)
    np.testing.assert_allclose(found["steps"], right["whole"], rtol=1e-9, atol=1e-9)
    assert found["streamed"].tolist() == right["new"].tolist()


@both
@pytest.mark.parametrize("checked", [(), ("--checked",)])
def test_files_run_where_there_is_no_attnc(place: Path, backend: str, checked: tuple[str, ...]) -> None:
    assert compile_("--to", backend, "-o", "net.py", "--decoding", *checked) == CLEAN
    assert names(place) == {"net.py", "net_decoding.py", f"attnc_runtime_{backend}.py"}
    run_apart("net.py", "net_decoding.py", backend)


@both
def test_a_single_file_runs_wherever_it_is(place: Path, backend: str) -> None:
    assert compile_("--to", backend, "-o", "a-net.py", "--decoding", "--single-file") == CLEAN
    assert names(place) == {"a-net.py"}
    run_apart("a-net.py", "a-net.py", backend)


@both
def test_the_model_comes_first(backend: str) -> None:
    source = attnc.loads(SPEC).model("translator").source(backend, single_file=True, decoding=True)  # type: ignore[arg-type]
    made = [node.name for node in ast.parse(source).body if isinstance(node, ast.ClassDef | ast.FunctionDef)]
    model, steps = "Translator" if backend == "torch" else "translator", ["prepare", "step", "generate", "stream"]
    places = [made.index(name) for name in ("check", model, *steps)]
    assert places == sorted(places) and made.index("Cache") > max(places)
    alone = attnc.loads(SPEC).model("translator").source(backend, single_file=True)  # type: ignore[arg-type]
    assert "def generate(" not in alone and "attnc_runtime" not in alone and "Cache" not in alone


@both
def test_the_default_file_is_the_model(place: Path, capsys: pytest.CaptureFixture[str], backend: str) -> None:
    """The same with its decoding beside it, to stdout, and from Python."""
    model = attnc.load("spec.attn").model("translator")
    source = model.source(backend)  # type: ignore[arg-type]
    assert compile_("--to", backend, "-o", "net.py") == CLEAN
    assert (place / "net.py").read_text() == source and names(place) == {"net.py", f"attnc_runtime_{backend}.py"}
    assert compile_("--to", backend, "-o", "net.py", "--decoding") == CLEAN
    assert (place / "net.py").read_text() == source
    files = model.files(backend, "net", decoding=True)  # type: ignore[arg-type]
    assert files == {name: (place / name).read_text() for name in names(place)}
    capsys.readouterr()
    assert compile_("--to", backend) == CLEAN
    out, err = capsys.readouterr()
    assert out == source
    told = "-o OUT.py writes that beside it, --single-file puts it into the text"
    assert err == f"attnc: this imports attnc_runtime_{backend}: {told}\n"
    tree = ast.parse(source)
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    assert not {"prepare", "step", "generate"} & {node.name for node in functions}
    assert "attnc_runtime" in (ast.get_docstring(tree) or "")


def test_what_needs_nothing_of_ours_is_one_file(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert compile_("--to", "torch", "-o", "a-map.py", name="mapped") == CLEAN
    assert names(place) == {"a-map.py"} and "Needs torch and jaxtyping alone." in Path("a-map.py").read_text()
    assert compile_("--to", "torch", name="mapped") == CLEAN
    assert capsys.readouterr().err == ""


@both
def test_inputs_are_checked_in_full_if_asked_for(backend: str) -> None:
    model = attnc.loads(SPEC).model("translator")
    short, full = (model.source(backend, checked=checked) for checked in (False, True))  # type: ignore[arg-type]
    assert re.search(r"^from attnc_runtime_.* check\b", short, re.MULTILINE) and "check_inputs" not in short
    assert "check_inputs" in full and not re.search(r"\bcheck\b", full)
    alone = attnc.loads(SPEC).model("mapped").source(backend)  # type: ignore[arg-type]
    assert ("def check(" in alone) == ("attnc_runtime" not in alone)  # said by a file that imports nothing of ours
    space = {"net": model.torch() if backend == "torch" else model.numpy()}
    many = torch.zeros(1, 33, dtype=torch.int64) if backend == "torch" else np.zeros((1, 33), int)
    with pytest.raises(ValueError, match="seq is at most 32"):  # those that are run here are checked
        space["net"](many[:, :2], many)


# -- the file that all models of a folder import ---------------------------------------------------------------------


@both
def test_the_runtime_file_is_ours_word_for_word(backend: str) -> None:
    library = LIBRARIES[backend]
    text = library.runtime_file()
    for module in library.modules:
        for made in helpers(module).values():
            assert made in text
    assert version_of_runtime(text) is not None and version_of_runtime(text) == version_of_runtime(text + "\n# mine\n")
    assert attnc.__version__ in (version_of_runtime(text) or "")
    assert not any("attnc." in line for line in text.splitlines() if line.startswith(("import ", "from ")))
    space: dict[str, Any] = {"__name__": library.runtime}
    exec(compile(text, f"{library.runtime}.py", "exec", dont_inherit=True), space)
    assert {name for module in library.modules for name in helpers(module)} <= space.keys()


@both
def test_one_serves_all_models_of_a_folder(place: Path, backend: str) -> None:
    """It is left as it is, edited or not."""
    runtime = place / f"attnc_runtime_{backend}.py"
    assert compile_("--to", backend, "-o", "one.py") == CLEAN
    runtime.write_text(runtime.read_text() + "\n# mine\n")
    before = runtime.read_text()
    assert compile_("--to", backend, "-o", "two.py", "--decoding") == CLEAN
    assert runtime.read_text() == before


@both
@pytest.mark.parametrize("text", ["", "print(1)\n", 'ATTNC_RUNTIME = "0.0.1 abc"\n'])
def test_another_one_is_never_overwritten(
    place: Path, capsys: pytest.CaptureFixture[str], backend: str, text: str
) -> None:
    """Nor is anything else written."""
    runtime = place / f"attnc_runtime_{backend}.py"
    runtime.write_text(text)
    (place / "net.py").write_text("old")
    error = says(capsys, "--to", backend, "-o", "net.py", "--decoding")
    assert f"attnc_runtime_{backend}.py" in error and "--single-file" in error and "nothing is written" in error
    assert ("of attnc 0.0.1 abc" if "0.0.1" in text else "no file that attnc wrote") in error
    assert names(place) == {"net.py", runtime.name}
    assert compile_("--to", backend, "-o", "net.py", "--decoding", "--single-file") == CLEAN
    assert runtime.read_text() == text


# -- what cannot be --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("out", "wish"),
    [("a-net.py", "a_net.py"), ("1net.py", "_1net.py"), ("class.py", "_class.py"), ("net.txt", "net.py")],
)
def test_a_name_that_cannot_be_imported(capsys: pytest.CaptureFixture[str], out: str, wish: str) -> None:
    assert f"-o {wish}" in says(capsys, "--to", "torch", "-o", out, "--decoding")
    assert compile_("--to", "torch", "-o", wish, "--decoding") == CLEAN


@pytest.mark.parametrize("out", ["random.py", "torch.py", "attnc_runtime_torch.py"])
def test_a_name_that_is_that_of_what_is_imported(capsys: pytest.CaptureFixture[str], out: str) -> None:
    error = says(capsys, "--to", "torch", "-o", out, "--decoding")
    assert out.removesuffix(".py") in error
    with pytest.raises(ValueError, match="name"):
        attnc.loads(SPEC).model("translator").files("torch", "a b")


def test_decoding_wants_a_file(capsys: pytest.CaptureFixture[str]) -> None:
    assert "-o" in says(capsys, "--to", "torch", "--decoding")
    assert "-o" in says(capsys, "--to", "torch", "--decoding", "-o", "/dev/null")
    assert "--single-file" in says(capsys, "--to", "torch", "--decoding", "-o", "-")
    with pytest.raises(ValueError, match="single_file"):
        attnc.loads(SPEC).model("translator").source("torch", decoding=True)


def test_a_model_that_does_not_decode(capsys: pytest.CaptureFixture[str]) -> None:
    for more in ((), ("--single-file",)):
        assert "mapped has no steps" in says(
            capsys, "--to", "numpy", "-o", "net.py", "--decoding", *more, name="mapped"
        )


def test_explaining_writes_no_files(capsys: pytest.CaptureFixture[str]) -> None:
    assert "leave --decoding and --single-file out" in says(capsys, "--explain", "--decoding", "--single-file")


def test_a_file_of_somebody_else_stays(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (place / "net_decoding.py").write_text("mine = 1\n")
    assert "net_decoding.py" in says(capsys, "--to", "torch", "-o", "net.py", "--decoding")
    assert names(place) == {"net_decoding.py"}
    (place / "net_decoding.py").unlink()
    for _ in range(2):  # its own it writes anew
        assert compile_("--to", "torch", "-o", "net.py", "--decoding") == CLEAN


def test_all_files_or_none(place: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    (place / "net.py").write_text("old")
    put = Path.replace

    def full(path: Path, target: Path) -> Path:
        if target.name.startswith("attnc_runtime"):
            raise OSError(28, "No space left on device")
        return put(path, target)

    monkeypatch.setattr(Path, "replace", full)
    error = says(capsys, "--to", "torch", "-o", "net.py", "--decoding")
    assert "attnc_runtime_torch.py" in error and "No space left" in error
    assert names(place) == {"net.py"} and (place / "net.py").read_text() == "old"
    (place / "closed").mkdir()
    assert "nowhere" in says(capsys, "--to", "torch", "-o", "nowhere/net.py", "--decoding")


# -- names -----------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@both
def test_files_of_models_named_as_what_they_use(place: Path, monkeypatch: pytest.MonkeyPatch, backend: str) -> None:
    """Imports call what makes way otherwise, alike in both files."""
    monkeypatch.syspath_prepend(str(place))
    every = [*ISSUE, "cache", "device", "dtype", "at", "net", "w", "generate", "step", "prompt", "check", "array"]
    for number, name in enumerate(every):
        named = ({"f": name}, {"by": name}, {"m": name, "by": f"{name}_", "x": name})[number % 3]
        model, module = decoder(**named), f"{backend}_{number}"
        for file, text in model.files(backend, module, decoding=True).items():  # type: ignore[arg-type]
            (place / file).write_text(text)
        run: Any = model.numpy(seed=2)
        given = {named.get("by", "by"): np.arange(4.0, dtype=np.float32)}
        right = run.generate([1, 2, 3], 4, **given)
        steps, called = importlib.import_module(f"{module}_decoding"), model._code(backend, False, True, ()).names
        net = run.weights
        if backend == "torch":
            made = vars(importlib.import_module(module)).values()
            net = [one for one in made if isinstance(one, type) and one.__module__ == module][-1]()
            net.load_state_dict({key: torch.from_numpy(x) for key, x in run.weights.items()})
            given = {key: torch.from_numpy(x) for key, x in given.items()}
        assert np.asarray(vars(steps)[called["generate"]](net, [1, 2, 3], 4, **given)).tolist() == right.tolist()
