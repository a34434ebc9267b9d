"""Names as a reader writes them: Greek letters, subscripts, primes, powers of ten; no identifier with an underscore."""

from __future__ import annotations

import pytest

import attnc
from attnc.diagrams.base.names import axis_label, bar_over, listed, name_text, spaced
from attnc.diagrams.base.text import Run, width

NAMES = """
width x, lambda_q, key_item like lambda_q
depth m = 8, alpha = 4, k_ = 4, d_k = 4
block gentle_phi(z: []) -> [] {
    return z * sigmoid(z)
}
model look(X_: [x, m, alpha], W_q: [lambda_q, m], source_ids: [key_item, d_k, k_])
    -> (Y_t: [x, lambda_q, alpha], sum_of_all: [key_item]) {
    eta_q = dot[m](linear.Q_[alpha -> alpha](X_, bias = false), W_q) * 0.00000001
    repeat.all layer_index in 3 {
        eta_q = gentle_phi(eta_q) + layer_index
    }
    return eta_q, sum[d_k, k_](source_ids)
}
"""


def test_names_are_written_as_readers_write_them() -> None:
    assert name_text("x") == (Run("x", "i"),)
    assert name_text("x_") == (Run("x′", "i"),)
    assert name_text("x__") == (Run("x′′", "i"),)
    assert name_text("alpha") == (Run("α", "i"),)
    assert name_text("lambda_q") == (Run("λ", "i"), Run("q", "i", -1))
    assert name_text("d_model") == (Run("d", "i"), Run("model", "", -1))
    assert name_text("W_theta_") == (Run("W′", "i"), Run("θ", "i", -1))
    assert name_text("Gamma") == (Run("Γ", ""),)  # as TeX has it
    assert name_text("source_ids") == (Run("source ids", "i"),)
    assert name_text("feed_forward", "") == (Run("feed forward", ""),)
    assert name_text("table_k", "b") == (Run("table k", "b"),)
    assert spaced("hubs_") == "hubs′"
    assert spaced("phi") == "φ"
    assert spaced("gentle_phi") == "gentle phi"
    assert listed(["k", "d_k", "k"]) == (Run("k, d", "i"), Run("k", "i", -1))


def test_labels_of_axes() -> None:
    assert axis_label("x_", is_width=True) == (Run("x\u0304′", "i"),)
    assert axis_label("d_k", is_width=False) == (Run("d", "i"), Run("k", "i", -1))
    assert axis_label("head_size", is_width=False) == (Run("head", "i"), Run("size", "", -1))
    assert axis_label("alpha", is_width=True) == (Run("α\u0304", "i"),)


@pytest.mark.parametrize("label", ["k", "k_", "lambda_q", "source", "source_past"])
def test_a_bar_covers_the_name_without_its_subscript(label: str) -> None:
    begin, wide, _ = bar_over(label, 10.0)
    base = width(axis_label(label, is_width=True)[:1], 10.0)
    assert begin >= 0 and wide <= base + 0.1
    assert (wide < 5) == (label in ("k", "k_", "lambda_q"))  # over a letter as short as that of TeX


def test_no_underscore_is_in_a_figure() -> None:
    diagram = attnc.loads(NAMES).model("look").draw(sizes=True, legend=True, close="gentle_phi")
    written = [text for text, _ in diagram._sheet.texts]
    assert not [text for text in written if "_" in text]
    assert {"X′", "Wq", "source", "Yt", "sum of all", "α=4", "k′=4", "keyitem", "Q′"} <= set(written)
    assert "ids keyitem like λq" in written
    assert any(text.startswith("× 10−8") for text in written)
    assert "×3, layer index = 0…2" in written


def test_tikz_has_greek_letters_and_primes() -> None:
    tex = attnc.loads(NAMES).model("look").draw(close="gentle_phi").tex
    for piece in ("$X'$", r"$\alpha$", r"$\lambda$", r"$k'$", "gentle phi"):
        assert f"{{}}{piece}}};" in tex
    assert "?" not in tex


@pytest.mark.parametrize(
    ("number", "text"),
    [("0.00000001", "× 10−8"), ("2.5e-6", "× 2.5 · 10−6"), ("1e20", "× 1020"), ("0.25", "× 0.25"), ("3.0", "× 3")],
)
def test_numbers_are_written_by_hand(number: str, text: str) -> None:
    """The exponent is a run of its own, raised."""
    spec = f"width x\ndepth m = 4\nblock f(a: [x, m]) -> [x, m] {{\n    return a * {number}\n}}\n"
    diagram = attnc.loads(spec).block("f").draw()
    assert text in [written for written, _ in diagram._sheet.texts]


@pytest.mark.parametrize(
    ("result", "body", "name"),
    [("(read: [x, m])", "return a * 2", "read"), ("[x, m]", "y_t = a * 2\n    return y_t", "yt"),
     ("[x, m]", "a = a * 2\n    return a", ""), ("[x, m]", "return a * 2", "")],
)  # fmt: skip
def test_results_are_named(result: str, body: str, name: str) -> None:
    spec = f"width x\ndepth m = 4\nblock f(a: [x, m]) -> {result} {{\n    {body}\n}}\n"
    sheet = attnc.loads(spec).block("f").draw(title="")._sheet
    written = [text for text, _ in sheet.texts if text not in ("a", "x\u0304", "m", "× 2", "result")]
    assert written == ([name] if name else [])


def test_equations_have_display_names() -> None:
    spec = attnc.loads("""width x
depth m = 4
block f_of as "φ-map × 2"(a: [x, m]) -> [x, m] {
    return a * 2
}
block g(a_: [x, m], alpha_t: [x, m]) -> [x, m] {
    return f_of(a_) + alpha_t
}
""")
    assert r"\text{$\phi$-map $\times$ 2}(a)" in spec.block("f_of").latex()
    assert r"\text{$\phi$-map $\times$ 2}(a') + {\alpha}_{t}" in spec.block("g").latex()
