"""What is followed through a graph.

flow.py       forward: what is known of values, through calls and repeats
zeros.py      forward: what is 0 as long as some weights are
learning.py   backward: which weights a gradient reaches
"""
