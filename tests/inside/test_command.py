"""`attnc inspect`: tables, files, and one line for each mistake."""

from __future__ import annotations

import base64
import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest

import attnc
from attnc.cli.main import main
from attnc.inspect import look

SPEC = """\
use std.attention: multihead, model, heads

width seq
width past like seq
depth model = 8, heads = 2, vocab = 5
const layers = 2

model net(ids: vocab[seq], real: bool[seq] = true) -> [seq, model] {
    x = embed.E[vocab -> model](ids)
    repeat layers {
        x = x + multihead.self[seq, past](x, x[seq as past], mask = real[seq as past])
    }
    return x
}

model plain(x: [seq, model]) -> [seq, model] {
    return relu(x)
}
"""
NET = "net.attn:net"


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("net.attn").write_text(SPEC)
    return tmp_path


def printed(capsys: pytest.CaptureFixture[str], *args: str, status: int = 0) -> str:
    assert main(["inspect", *args]) == status
    shown = capsys.readouterr()
    return shown.err if status else shown.out


def test_list(capsys: pytest.CaptureFixture[str]) -> None:
    lines = printed(capsys, NET, "--list").splitlines()
    assert [line.split()[0] for line in lines if "attention" in line] == [f"layers.{n}.self.weights" for n in (0, 1)]
    assert any(re.match(r"layers.0.self.Q +\[q = seq, heads: 2, key: 4\]", line) for line in lines)
    assert "rename" not in "\n".join(lines)
    assert "layers.0.rename" in printed(capsys, NET, "--list", "--all")


def test_tables_are_the_figures(capsys: pytest.CaptureFixture[str]) -> None:
    told = printed(
        capsys, NET, "--seed", "1", "--ids", "ids=0,1,4,2", "--entropy", "--spectrum", "--rank", "2", "--json"
    )
    data = json.loads(told)
    found = look(attnc.load("net.attn").model("net"), {"ids": [0, 1, 4, 2]}, seed=1)
    for path, one in found.maps.items():
        nats, share = one.entropy()
        for head, entry in enumerate(data["entropy"][path]):
            assert entry["nats"] == pytest.approx(nats[0, head].mean())
            assert entry["share"] == pytest.approx(share[0, head].mean())
        values = one.spectrum()[0]
        assert data["spectrum"][path]["carried"]["2"]["mean"] == pytest.approx(
            (values[:, :2].sum(-1) / values.sum(-1)).mean()
        )
    text = printed(capsys, NET, "--seed", "1", "--ids", "ids=0,1,4,2", "--entropy")
    assert re.search(r"layers.0.self.weights +\d\.\d\d +\d+% +\d\.\d\d +\d+%", text)


def test_weights_inputs_and_arrays_by_file(capsys: pytest.CaptureFixture[str]) -> None:
    model = attnc.load("net.attn").model("net")
    weights = model.numpy(seed=5).weights  # type: ignore[attr-defined]
    attnc.weights.save("w.safetensors", weights)
    ids, real = np.array([[0, 1, 2], [3, 4, 0]]), np.array([[1, 1, 1], [1, 1, 0]], dtype=bool)
    np.savez("x.npz", ids=ids, real=real)
    printed(capsys, NET, "--weights", "w.safetensors", "--input", "x.npz", "-o", "out.npz")
    expected = look(model, {"ids": ids, "real": real}, weights)
    with np.load("out.npz") as arrays:
        assert sorted(arrays) == sorted(expected)
        for path in expected:
            np.testing.assert_array_equal(arrays[path], expected[path].array)


def page_data(file: str) -> dict:
    text = Path(file).read_text(encoding="utf-8")
    assert not re.search(r"(src|href)=|https?://|@import", text)  # nothing but itself
    found = re.search(r'<script id="data" type="application/json">(.*?)</script>', text, re.DOTALL)
    assert found
    return json.loads(found[1])


def test_the_page_has_the_weights_and_their_labels(capsys: pytest.CaptureFixture[str]) -> None:
    Path("tokens.txt").write_text("a\nb\nab\n</script><b>\n\N{SNOWMAN}\n", encoding="utf-8")
    args = [NET, "--seed", "0", "--text", "ids=aba</script><b>\N{SNOWMAN}", "--tokens", "tokens.txt"]
    printed(capsys, *args, "-o", "out.html")
    data = page_data("out.html")
    assert [one["path"] for one in data["maps"]] == ["layers.0.self.weights", "layers.1.self.weights"]
    one = data["maps"][1]
    assert one["rowLabels"] == one["columnLabels"] == ["ab", "a", "</script><b>", "\N{SNOWMAN}"]
    levels = np.frombuffer(base64.b64decode(one["data"]), "<u2").reshape(one["shape"])
    found = look(attnc.load("net.attn").model("net"), {"ids": [2, 0, 3, 4]}, seed=0)["layers.1.self.weights"]
    np.testing.assert_allclose(levels / 65534, found.flat(), atol=1e-5)
    again = Path("out.html").read_bytes()
    printed(capsys, *args, "-o", "out.html")
    assert Path("out.html").read_bytes() == again


def test_the_figure_has_the_weights_at_their_steps(capsys: pytest.CaptureFixture[str]) -> None:
    args = [NET, "--seed", "0", "--ids", "ids=2,0,3,4", "--figure"]
    printed(capsys, *args, "-o", "out.html")
    text = Path("out.html").read_text(encoding="utf-8")
    found = re.search(r'<script id="data" type="application/json">(.*?)</script>', text, re.DOTALL)
    assert found is not None
    data = json.loads(found[1])
    seen = look(attnc.load("net.attn").model("net"), {"ids": [2, 0, 3, 4]}, seed=0)
    assert [(one["path"], one["rows"], one["columns"]) for one in data["heat"]] == [
        (f"layers.{k}.self.weights", ["seq"], ["past"]) for k in (0, 1)
    ]
    np.testing.assert_allclose(data["heat"][1]["values"], seen["layers.1.self.weights"].flat(), atol=6e-4)
    steps = [step for level in data["levels"] for step in level["steps"]]
    assert [step["t"] for step in steps if "weights" in step.get("n", "").split(", ")] == ["softmax[k]"]


def test_what_the_mask_hides_is_marked_on_the_page(capsys: pytest.CaptureFixture[str]) -> None:
    printed(capsys, NET, "--seed", "0", "--ids", "ids=0,1,2", "--ids", "real=1,1,0", "-o", "out.html")
    one = page_data("out.html")["maps"][0]
    levels = np.frombuffer(base64.b64decode(one["data"]), "<u2").reshape(one["shape"])
    assert ((levels == 65535) == (np.arange(3) == 2)).all()


@pytest.mark.parametrize("out", ["out.png", "out.svg", "out.pdf"])
def test_pictures(capsys: pytest.CaptureFixture[str], out: str) -> None:
    pytest.importorskip("matplotlib")
    args = [NET, "--seed", "0", "--random", "seq=4", "--labels", "seq=$a,b_1,,d"]
    printed(capsys, *args, "-o", out)
    first = Path(out).read_bytes()
    assert first[:4] in (b"\x89PNG", b"<?xm", b"%PDF")
    printed(capsys, *args, "-o", out)
    assert Path(out).read_bytes() == first
    printed(capsys, *args, "--spectrum", "-o", out)
    assert Path(out).read_bytes() != first


def test_the_picture_has_a_panel_for_each_head() -> None:
    pytest.importorskip("matplotlib")
    found = look(attnc.load("net.attn").model("net"), {"ids": [0, 1, 2]}, seed=0)
    figure = found.figure()
    images = [image for axes in figure.findobj(lambda one: hasattr(one, "get_images")) for image in axes.get_images()]
    arrays = [np.ma.getdata(image.get_array()) for image in images if image.get_array().shape == (3, 3)]
    expected = [head for one in found.maps.values() for head in one.flat()]
    assert len(arrays) == len(expected) == 4
    for one, other in zip(arrays, expected, strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_folder_gets_all_of_it(capsys: pytest.CaptureFixture[str], place: Path) -> None:
    pytest.importorskip("matplotlib")
    (place / "out").mkdir()
    printed(capsys, NET, "--seed", "0", "--random", "seq=4", "-o", "out")
    assert sorted(path.name for path in (place / "out").iterdir()) == [
        "index.html",
        "layers.0.self.weights.png",
        "layers.1.self.weights.png",
        "values.npz",
    ]


def test_without_matplotlib(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("matplotlib", "matplotlib.figure"):
        monkeypatch.setitem(sys.modules, name, None)
    told = printed(capsys, NET, "--seed", "0", "--random", "seq=4", "-o", "out.png", status=2)
    assert told == 'attnc: a picture needs matplotlib: pip install "matplotlib>=3.9"\n'
    printed(capsys, NET, "--seed", "0", "--random", "seq=4", "-o", "out.html")


SEEDED = (NET, "--seed", "0")


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("net.attn:plain", "--random", "seq=3"), "no softmax of this model runs over a width"),
        ((NET, "--random", "seq=3"), "net has 9 weights: give them with --weights W.safetensors, or have them drawn"),
        ((*SEEDED,), "needs an input that it is not given: `ids: vocab[seq]`"),
        ((*SEEDED, "--random", "sq=3"), "no free width `sq` to draw; did you mean `seq`?"),
        ((*SEEDED, "--random", "seq=0"), "not a whole number of 1 or more"),
        ((*SEEDED, "--random", "3"), "`3` is not NAME=..."),
        ((*SEEDED, "--ids", "ids=1,x"), "is not a list of whole numbers"),
        ((*SEEDED, "--ids", "ids=1,9"), "net cannot run on this input: net: `ids`: 9 at [1] is no index into vocab"),
        ((*SEEDED, "--ids", "ids=1", "--ids", "ids=2"), "the input `ids` is given twice"),
        ((*SEEDED, "--text", "ids=ab"), "needs --tokens FILE"),
        ((*SEEDED, "--text", "ids=ax", "--tokens", "tokens.txt"), "no token begins 'x', character 2"),
        ((*SEEDED, "--input", "no.npz"), "cannot read no.npz: No such file"),
        ((*SEEDED, "--input", "net.attn"), "net.attn is not a readable .npz file"),
        ((*SEEDED, "--input", "one.npy"), "one array without a name"),
        ((NET, "--weights", "no.safetensors", "--random", "seq=3"), "cannot read no.safetensors"),
        ((NET, "--weights", "net.attn", "--random", "seq=3"), "not a readable safetensors file"),
        ((NET, "--weights", "few.safetensors", "--random", "seq=3"), "missing: layers.1.self.O.weight"),
        ((*SEEDED, "--random", "seq=3", "--capture", "layers.0.self.wieghts"), "did you mean `layers.0.self"),
        ((*SEEDED, "--random", "seq=3", "--capture", "zzz"), "there is no value `zzz`; there are `x:1`, `x`, "),
        ((*SEEDED, "--random", "seq=3", "--capture", "layers.0.self.Q"), "a map needs two widths"),
        ((*SEEDED, "--random", "seq=3", "--labels", "seq=a,b"), "2 labels for `seq`, which has 3 items"),
        ((*SEEDED, "--random", "seq=3", "--item", "1", "-o", "out.html"), "there is no item 1: the batch has 1"),
        ((*SEEDED, "--random", "seq=3", "--figure"), "--figure is a page: write it with -o OUT.html"),
        ((*SEEDED, "--random", "seq=3", "--item", "1", "--figure", "-o", "out.html"), "there is no item 1: the batch"),
        ((*SEEDED, "--random", "seq=900", "--figure", "-o", "out.html"), "numbers are too many for a figure"),
        ((*SEEDED, "--random", "seq=3", "-o", "out.gif"), "its name must end in one of .html, .png"),
        ((*SEEDED, "--random", "seq=2100", "-o", "out.png"), "too large to show: 2,100 items along a side"),
        ((*SEEDED, "--random", "seq=2100", "-o", "out.html"), "numbers are too many for one page"),
    ],
)
def test_mistakes_are_one_line(
    capsys: pytest.CaptureFixture[str], place: Path, args: tuple[str, ...], message: str
) -> None:
    Path("tokens.txt").write_text("a\nb\n")
    with open("one.npy", "wb") as file:
        np.save(file, np.ones(3))
    attnc.weights.save("few.safetensors", {"E.weight": np.zeros((5, 8), np.float32)})
    before = sorted(place.iterdir())
    told = printed(capsys, *args, status=2)
    assert message in told
    assert told.startswith("attnc: ")
    assert "internal error" not in told
    if "weights do not fit" not in told:
        assert told.count("\n") == 1
    assert sorted(place.iterdir()) == before
