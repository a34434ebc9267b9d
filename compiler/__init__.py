"""The checker: from the syntax tree of a file to the typed graphs of its blocks and models, and what is proved of them.

The floors of the folder are in CONTRIBUTING.md. The way in is `check.build`; `calls.checker` checks each block on its
own (D8), `typing` its statements and expressions, by the rows of `ops`; what comes out is `graph.nodes`.

Nothing here imports torch or NumPy, draws, or writes code. A user's mistake raises nothing: it is a diagnostic.
"""
