"""A spec and its figure as files for a paper: unzipped, or opened in Overleaf, `main.tex` compiles as it is."""

from __future__ import annotations

import io
import zipfile

from ..spec import Model

MAIN = r"""\documentclass{article}
\usepackage[margin=1in]{geometry}
\usepackage{amsmath, amssymb, tikz, xcolor}
\begin{document}

\begin{figure}
  \centering
  \input{figure}
  \caption{@NAME@}
\end{figure}

\input{equations}

\end{document}
"""


def bundle(text: str, model: Model) -> bytes:
    """A zip. Raises ValueError or RuntimeError for what cannot be drawn."""
    name = model.name.replace("_", r"\_")
    files = {
        "main.tex": MAIN.replace("@NAME@", name),
        "figure.tex": model.draw().tex,
        "equations.tex": model.latex(),
        f"{model.name}.attn": text,
    }
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as packed:
        for file, content in files.items():
            packed.writestr(zipfile.ZipInfo(file, (1980, 1, 1, 0, 0, 0)), content)
    return made.getvalue()
