"""What a plan comes to on a device, beyond what a bill says.

activations.py   what is kept of a forward pass, by how much of it is done again
memory.py        what a device holds in a step of training, part by part
balance.py       how evenly work is spread
"""
