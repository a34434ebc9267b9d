"""What is followed through a graph.

learning.py   backward: which weights a gradient reaches
zeros.py      forward: which it still reaches as long as some weights are 0
"""
