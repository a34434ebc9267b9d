"""The checker: from the syntax tree of a file to the typed graphs of its blocks and models, and what is proved of them.

The map of the folder, in the order in which data flows:

====================  ==============================================================================================
`program`             the way in: `build` checks a text; a `Program` has its diagnostics and graphs
`modules`             files: their axes, consts and blocks (D13), read by `loader`, `declarations`, `uses`
`blocks`              each block checked on its own (D8): its parameters, its formals, what it promises
`body`, `repeats`     statements, by way of `expressions`, in the `scope` of names; one `frame` for each elaboration
`opcall`, `ops`       one use of an op, and the table: one row for each, with its type rule (D3, D5, D6, D7)
`lost`, `usage`       where an axis that an op lacks went, how its call is to be written: for the help of its error
`blockcall`           a block called: `binding` sorts what it is given, `callframe` its parameters, `arguments` those;
                      `callbody` finds or makes a body for each kind of call; `scancall`
`builder`, `graph`    the typed graph under construction, and as it is: all that backends and diagrams read
`causality`           the proof of what `causal` claims (D12), with the facts of `predicates`
`rewrites`            graph -> graph, for the backends
====================  ==============================================================================================

Beneath them: `axes` (the named dimensions), `static` (numbers known at build time, kept symbolic), `sizes` (exact
division, and proofs about sizes), `extents` (what is taken for granted of the extents of axes), `written_sizes`
(sizes as a spec writes them), `wires` (a value, with what is known of it while checking), `session` (fresh ids and
diagnostics), `mentions` and `names`. Beside them, for those who read graphs: `inventory` (the weights, by their
paths), `sized` (whether a graph can be compiled as it stands), `dump` (a graph as text).

Nothing here imports torch or NumPy, draws, or writes code. A user's mistake raises nothing: it is a diagnostic.
"""
