"""Where gradients go.

learning.py   which weights one reaches
zeros.py      what is 0 as long as some weights are
"""
