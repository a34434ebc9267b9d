"""A graph that can be asked: what analyses stand on.

index.py  who makes and reads each value of a graph, and where a graph runs
flow.py   one engine for all that is followed through calls, repeats and scans, forward or backward
"""
