"""Mistakes as data: what is wrong is found in one place and told in another.

A kind of mistake is a class here: frozen, with a code, the place where it stands, and what it is about: axes, values,
names, places in the text. It holds facts and no sentences. Of most a sentence with some names in it is said: these are
members of one enumeration (`plain.py`). Whoever finds a mistake adds it to the `Problems` at hand
(`compiler/base/problems.py`), and there is no other way to report one: `problems.add(NoCopies(span, old, new, ...))`,
`problems.add(Plain.BROADCAST_TWICE.at(span, axis, type))`. To try something without reporting is
`with problems.aside() as found:`; what is to be kept of that is added again.

Nothing is told while a file is checked. In the end (`compiler/check.py`), `compiler/hints` tells each mistake once: one
function for each kind makes its diagnostic, from these facts alone; it stands in the file of the same name of
`hints/messages`, which is imported when it is needed. Whom it tells is in `Wording`, which writes a piece of code with
the names that its reader knows. So a mistake that only some calls of a block bring about (`AtCall`) is told to the
caller as to the body, in other words: with the axes and arguments of the call. Facts that a help goes by and that
change as checking goes on, such as the names known at a place, are copied into the mistake when it is found.

Two mistakes are the same if one code stands at one place. What needs no more than that (whether a block is wrong,
whether a call of it adds anything) is asked of the data. Places that say the same share a kind; an enumeration says
which.
"""
