"""Experts on a mesh: only rows that were picked are computed (rewrites/dispatch), each where its expert is.

A mesh axis that splits the batch, and then the axis of experts, gives each device its items, the router of these, and a
part of the experts: rows go to the devices of the experts that they picked, and back. One that splits experts and not
the batch needs no sending: each device has all rows, computes those of its experts, and what they give is summed.

    dispatched.py   the model with what is picked computed alone, before it is split
    regions.py      what is done for rows, and over which axes of the mesh
    rows.py         the graph of one device where there are rows
    counted.py      the same with rows as an axis, as many as there are if the load is even: what a plan counts
"""
