"""Does a module let an item know what it must not? `attnc.probe` changes inputs and looks at which outputs move.

    report = attnc.probe(net, {"tokens": x}, axis=1, batch=0)
    print(report)
    report.check()                                             # raises AssertionError if it leaks

The module may be any `nn.Module`, ours or not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .report import Findings, Leak

if TYPE_CHECKING:
    import torch

__all__ = ["Findings", "Leak", "probe"]


def probe(
    module: Callable[..., Any],
    inputs: torch.Tensor | Sequence[Any] | Mapping[str, Any],
    *,
    axis: int | Mapping[str, int] | None = None,
    batch: int | Mapping[str, int] | None = None,
    padding: str | torch.Tensor | Mapping[str, str | torch.Tensor] | None = None,
    shorter: int = 0,
    last: Callable[[int], int] | None = None,
    train: bool = False,
    redraw: bool = False,
    dtype: torch.dtype | None = None,
    trials: int = 32,
    tolerance: float | None = None,
    seed: int = 0,
) -> Findings:
    """What leaks in a module: along an axis, from one example of a batch to another, from padding.

    inputs:  a tensor, the positional arguments, or the arguments by name. What is no tensor is handed on as it is.
    axis:    the dimension along which an item must not depend on later ones, of inputs and outputs alike, or by their
             names: `{"tokens": 1, "logits": 1}` changes and looks at these alone.
    batch:   the dimension of examples, likewise: an example must not depend on another.
    padding: what is real: the name of the input that says so, a tensor, or one for each input and output by name. True
             or 1 is a real item, which must not depend on one that is not.
    shorter: so many items are also left off at the end of `axis`: what is before must stay as it was.
    last:    the last item of the inputs that item i of an output may depend on, where it is not i: `lambda i: i + 2`.
    train:   as in training, with the same random numbers in each run; else as in `eval()`.
    redraw:  probes a copy whose weights are drawn at random: weights of zero hide what passes through them.
    dtype:   probes a copy in this type: in `torch.float64` smaller leaks are seen.
    trials:  the most changes that are tried of each kind.
    tolerance: the greatest change that is rounding, as a share of the standard deviation of an output; by default the
             square root of the precision of the coarsest type in use (3.5e-4 for float32).
    seed:    of all that is drawn.

    Floats are drawn anew, evenly between the least and the greatest of their input; integers become another of those
    in it. Truth values, integers some of which are negative (labels), what is called a mask, and floats with minus
    infinity among them stay as they are, unless a mapping names them. Modes, buffers and the random state are put back.

    Raises ValueError where nothing can be told: an unknown name, no output to look at, an input of one value, results
    that are not numbers or differ from one run to the next; ImportError without torch.
    """
    try:
        import torch  # noqa: F401
    except ImportError:
        raise ImportError('probing a module needs torch: pip install "torch>=2.6"') from None
    from .kinds import Asked
    from .search import searched

    if axis is None and batch is None and padding is None:
        raise ValueError("probe: say what to look for: axis=.., batch=.. or padding=..")
    if axis is None and (shorter or last is not None):
        raise ValueError("probe: `shorter` and `last` speak of an axis, so they need axis=..")
    if trials < 1 or shorter < 0:
        raise ValueError("probe: `trials` is 1 or more, `shorter` 0 or more")
    asked = Asked(axis, batch, padding, shorter, last, trials)
    return searched(module, inputs, asked, train=train, redraw=redraw, dtype=dtype, tolerance=tolerance, seed=seed)
