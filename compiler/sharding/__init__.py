"""One model over many devices: which axes are split, what must be sent, and what each device holds.

Names decide it all. A *mesh* of devices has named axes itself (`data=2,model=4`), and each of them splits some axes of
the spec: the batch, heads, experts. Then where a value lies follows from its type alone: along each axis of the mesh a
value is split along the first axis of its type that this one splits, and else it is whole on every device. What an op
needs may differ from that, and its result, too; each such difference is one collective, and there are no others.

    mesh.py         the axes of a mesh, and which axes of the spec they split; choose/: where nobody says so
    placement.py    where a value lies, from its type
    sends.py        collectives as ops of a graph
    spread/         the graph of one device
    rings/          attention over keys of many devices
    experts/        experts, and the rows that they are given
    weights.py      where each weight lies; collectives.py: what is sent, in bytes
    plan.py         what that comes to on each device, by estimates/; options.py: what is asked of it
    page.py         a plan as text; data.py: as plain data
    cautions.py     plans that papers warn of; find.py: on which mesh it is best
"""
