"""What is joined along a dimension lies in order: all that is added to it would else lie turned round, too."""

from __future__ import annotations

import numpy as np
import torch

from attnc.backends.runtime.numpy import ops as numpy_ops
from attnc.backends.runtime.torch import ops as torch_ops


def test_what_is_joined_lies_in_order() -> None:
    draw = np.random.default_rng(0)
    start, rest = draw.normal(size=(1, 8)), draw.normal(size=(2, 3, 5, 8))
    for axis, parts in (
        (-2, [start, rest]),
        (-1, [rest, rest[..., :3], rest[:1, :, :, :2]]),
        (-3, [rest, rest[:, :1]]),
    ):
        right = numpy_ops.concat(parts, axis)
        found = torch_ops.concat([torch.from_numpy(part) for part in parts], axis)
        whole = np.broadcast_shapes(*(part[..., :1, :, :].shape[:-3] for part in parts if part.ndim > 2))
        assert found.is_contiguous() and right.flags.c_contiguous and right.shape[: len(whole)] == whole
        np.testing.assert_array_equal(found.numpy(), right)
        size = 0
        for part in parts:
            piece = right.take(range(size, size + part.shape[axis]), axis)
            np.testing.assert_array_equal(piece, np.broadcast_to(part, piece.shape))
            size += part.shape[axis]
    padded = torch_ops.pad(torch.from_numpy(rest), -2, 1, 9, 3.0)
    assert padded.is_contiguous() and bool((padded[..., [0, 6, 7, 8], :] == 3).all())
    np.testing.assert_array_equal(padded[..., 1:6, :].numpy(), rest)
