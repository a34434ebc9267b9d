"""A graph that can be asked: what analyses stand on.

index.py   who makes and reads each value of a graph, and where a graph runs
kept.py    what a graph answers once, for all that ask
flow.py    one engine for all that is followed through calls, repeats and scans, forward or backward
access.py  which items of its operands an op reads, as forms of the indices of its result
term.py    what is known of one value as a number or a truth value
places.py  where an item stands along the family of a claim
ways.py       in which ways a value reads items: of which source, within which bounds, and how that came about
following.py  what is followed of the items: their places, and how many there are
reading.py    one op in the relation of items
relation.py   which items of the inputs each item of a value reads, through the whole model
"""
