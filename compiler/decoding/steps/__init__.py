"""Passes over the graph of a step once it is built. They change what it takes, not what it gives.

tail       the last items alone         unmask     masks that hide nothing      tabulate   tables of places
lay_kept   the order in memory          join_maps  maps of one value as one
"""
