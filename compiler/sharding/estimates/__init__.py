"""What a plan comes to on a device, beyond what a bill says.

parts.py         the weights of a device; scattered.py: what it holds and sends of them in a step
device.py        the graph of a device, and what it comes to
activations.py   what is kept of a forward pass, by how much of it is done again
memory.py        what a device holds in a step of training, part by part
balance.py       how evenly work is spread
"""
