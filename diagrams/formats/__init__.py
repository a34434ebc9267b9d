"""A figure written down: DOT, SVG, PDF, PNG, TikZ, LaTeX."""
