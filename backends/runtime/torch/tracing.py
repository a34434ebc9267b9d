"""Whether generated PyTorch code may look at the numbers of its tensors."""

import torch


def is_traced() -> bool:
    """Whether PyTorch traces or transforms what runs: no code may depend on the numbers that a tensor then holds.

    That is torch.compile, torch.export, torch.jit.trace, torch.func, make_fx and tensors that are fake.
    """
    if torch.compiler.is_compiling():
        return True
    try:
        mode, key = torch._C._get_dispatch_mode, torch._C._TorchDispatchModeKey
        transformed: bool = torch._C._is_tracing() or torch._C._are_functorch_transforms_active()
        return transformed or mode(key.FAKE) is not None or mode(key.PROXY) is not None
    except AttributeError:  # these names are PyTorch's own, and may go: what runs without tracing must run on
        return False
