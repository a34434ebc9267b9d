"""What editors ask: the language server (`attnc lsp`), and the Pygments lexer.

====================  ==============================================================================================
`lines`               offsets of a text, and lines and columns as the protocol counts them
`project`             texts: open buffers before files on disk; each parsed once; where a `use` leads
`names`               every name of a file: where it is declared, where it is mentioned
`analysis`            a text, checked: its diagnostics, its names, the types of its expressions; the last good one, too
`shift`               from one text to a later one: where each place of it has gone
`lexical`             what stands around the cursor in a text that need not parse
`describe`            a type, an axis, a block, an op in words
====================  ==============================================================================================

Then one file for each feature, from an analysis and an offset to an answer: `hover`, `navigate`, `rename`, `complete`,
`signature`, `fixes`, `tokens`, `hints`, `folds`, `picture`. None of them knows the protocol:
`server` does, with `convert` and `session`.
"""
