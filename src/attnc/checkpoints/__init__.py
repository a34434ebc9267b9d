"""Checkpoints of training on many devices, that a rank killed at any moment leaves whole.

    checkpoints = Checkpoints("out/run")                   # after init_process_group, on every rank
    state = training_state(net, optimizer)                 # by name: tensors, or DTensors on any mesh
    found = checkpoints.restore(state)                     # the newest that is whole, in place; None if there is none
    ...
    checkpoints.save(step, training_state(net, optimizer), {"seed": 0})       # goes on while the next steps are done
    checkpoints.wait()

PyTorch's own planner (`torch.distributed.checkpoint`) decides who writes and reads what, so a checkpoint of one mesh is
read on any other. Each rank writes one safetensors file and the first an index in JSON; nothing is pickled.
"""

from .problem import CheckpointError
from .saving import Checkpoints, Restored
from .state import training_state
from .storage import CheckpointReader, CheckpointWriter, read_tensors

__all__ = [
    "CheckpointError",
    "CheckpointReader",
    "CheckpointWriter",
    "Checkpoints",
    "Restored",
    "read_tensors",
    "training_state",
]
