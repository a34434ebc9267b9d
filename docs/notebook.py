"""Write docs/notebook.ipynb: the cells below, executed. Needs jupyter: `pip install nbclient nbformat ipykernel`.

    python docs/notebook.py

tests/notebook/test_executed.py runs it again and compares.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

PAGE = Path(__file__).with_name("notebook.ipynb")
CELLS = [
    """# A spec in a notebook

`%load_ext attnc` makes cells that begin with `%%attn` cells of the language. A mistake is shown where it is, and
changes nothing.""",
    "%load_ext attnc",
    """%%attn
width seq
width past like seq
depth model = 32, heads = 4, key = 8, value = 8

model attention(x: [seq, model]) -> [seq, model] causal seq {
    Q = linear.Q[model -> heads, key](x)
    K = linear.K[model -> heads, key](x)[seq as past]
    V = linear.V[model -> heads, value](x)[seq as past]
    w = softmax[past](dot[key](Q, K) / sqrt(|key|) where past >= seq)
    return linear.O[heads, value -> model](dot[past](w, V))
}""",
    """The mask was turned round. Once it is right, the model is bound to its name, the spec to `spec` (or to a name
behind `%%attn`), and the last model is shown: point at things, click on blocks.""",
    """%%attn
width seq
width past like seq
depth model = 32, heads = 4, key = 8, value = 8

model attention(x: [seq, model]) -> [seq, model] causal seq {
    Q = linear.Q[model -> heads, key](x)
    K = linear.K[model -> heads, key](x)[seq as past]
    V = linear.V[model -> heads, value](x)[seq as past]
    w = softmax[past](dot[key](Q, K) / sqrt(|key|) where past <= seq)
    return linear.O[heads, value -> model](dot[past](w, V))
}""",
    "Everything that a model has in Python is at hand: its weights, its cost at any size,",
    "attention.weights",
    "attention.cost(seq=512)",
    "and the network, in PyTorch or NumPy, here against each other:",
    """import torch

net = attention.torch(seed=0)
x = torch.randn(2, 5, 32, generator=torch.Generator().manual_seed(1))
numpy = attention.numpy(weights=net.state_dict())
float(abs(net(x).detach().numpy() - numpy(x.numpy())).max()) < 1e-5""",
    "`draw` takes what [`attnc draw`](cli.md) takes; a figure is saved by its ending: `.svg`, `.pdf`, `.tex`, `.html`.",
    'attention.draw(sizes=True, title="").dot[:40]',
]


def made() -> Any:
    """The notebook, not executed yet."""
    import nbformat

    cells = []
    for number, text in enumerate(CELLS):
        code = text.startswith(("%", "import", "attention.", "net"))
        new = nbformat.v4.new_code_cell if code else nbformat.v4.new_markdown_cell
        cells.append(new(text, id=f"cell-{number}"))
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": kernel})


def executed() -> Any:
    """The notebook with what its cells print and show; what changes from one run to another is left out."""
    from nbclient import NotebookClient

    book = made()
    NotebookClient(book, timeout=300, allow_errors=False).execute(cwd=str(PAGE.parent.parent))
    for cell in book.cells:
        cell.metadata.pop("execution", None)
    book.metadata.pop("language_info", None)
    return book


if __name__ == "__main__":
    import nbformat

    PAGE.write_text(nbformat.writes(executed()) + "\n", encoding="utf-8")
