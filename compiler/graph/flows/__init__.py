"""What is followed through a graph.

flow.py       forward: what is known of values, through calls and repeats
learning.py   backward: which weights a gradient reaches
zeros.py      forward: which it still reaches as long as some weights are 0
"""
