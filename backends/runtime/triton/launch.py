"""Tiles of memory, and how kernels are launched: leading axes as one, steps between items, sizes of tiles."""

from __future__ import annotations

from collections.abc import Sequence

import torch
import triton
import triton.language as tl
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensor
from triton.runtime.interpreter import InterpretedFunction


@triton.jit
def tile_of(x, rows, row_step, row_count, columns, column_step, column_count: tl.constexpr, EDGE: tl.constexpr):
    """x[rows, columns], 0 beyond the last column; with EDGE also beyond the last row, else all rows are there."""
    at = x + rows[:, None] * row_step + columns[None, :] * column_step
    if EDGE:
        return tl.load(at, mask=(rows < row_count)[:, None] & (columns < column_count)[None, :], other=0.0)
    elif column_count == columns.shape[0]:
        return tl.load(at)
    else:
        return tl.load(at, mask=(columns < column_count)[None, :], other=0.0)


@triton.jit
def load_tile(x, rows, inside, columns, column_count: tl.constexpr):
    """x[rows, columns] of what lies without gaps, 0 where a row is not inside."""
    at = x + rows[:, None] * column_count + columns[None, :]
    return tl.load(at, mask=inside[:, None] & (columns < column_count)[None, :], other=0.0)


@triton.jit
def store_tile(x, rows, inside, columns, column_count: tl.constexpr, value):
    """Writes x[rows, columns] of what lies without gaps."""
    at = x + rows[:, None] * column_count + columns[None, :]
    tl.store(at, value.to(x.dtype.element_ty), mask=inside[:, None] & (columns < column_count)[None, :])


@triton.jit
def product(a, b, PRECISION: tl.constexpr):
    """The matrices multiplied, summed in float32."""
    if PRECISION == "python":  # the interpreter multiplies none of half precision
        return tl.dot(a.to(tl.float32), b.to(tl.float32))
    else:
        return tl.dot(a, b, input_precision=PRECISION)


@triton.jit
def product_onto(total, a, b, PRECISION: tl.constexpr):
    """total plus the matrices multiplied."""
    if PRECISION == "python":
        return tl.dot(a.to(tl.float32), b.to(tl.float32), total)
    else:
        return tl.dot(a, b, total, input_precision=PRECISION)


@triton.jit
def tanh_of(x):
    """tanh, near 0 by its series: there 2 sigmoid(2 x) - 1 has lost all but the first digits."""
    q = x * x
    near = x * (1.0 - q * (1 / 3 - q * (2 / 15 - q * (17 / 315 - q * (62 / 2835)))))
    return tl.where(q < 0.0625, near, 2.0 * tl.sigmoid(2.0 * x) - 1.0)


@triton.jit
def expm1_of(x):
    """exp(x) - 1, near 0 by its series."""
    near = 1.0 + x / 6 * (1.0 + x / 7 * (1.0 + x / 8))
    near = x * (1.0 + x / 2 * (1.0 + x / 3 * (1.0 + x / 4 * (1.0 + x / 5 * near))))
    return tl.where(tl.abs(x) < 0.5, near, tl.exp(x) - 1.0)


@triton.jit
def log1p_of(x):
    """log(1 + x), near 0 by the series of 2 artanh(x / (2 + x))."""
    s = x / (2.0 + x)
    q = s * s
    near = 2.0 * s * (1.0 + q * (1 / 3 + q * (1 / 5 + q * (1 / 7 + q / 9))))
    return tl.where(tl.abs(x) < 0.25, near, tl.log(1.0 + x))


@triton.jit
def power_of(x, n):
    """x ^ n: of x below 0 for whole n alone."""
    size = tl.where(n == 0.0, 1.0, tl.exp2(n * tl.log2(tl.abs(x))))
    whole, half = tl.floor(n) == n, n * 0.5
    signed = tl.where(tl.floor(half) == half, size, -size)
    return tl.where(x >= 0.0, size, tl.where(whole, signed, float("nan")))


INTERPRETED = isinstance(tile_of, InterpretedFunction)  # TRITON_INTERPRET=1: kernels run in Python, on any device


def leading(tensors: Sequence[Tensor], own: Sequence[int]) -> torch.Size:
    """The leading axes of all together; `own`: how many axes behind them each has."""
    first = tensors[0].shape[: tensors[0].dim() - own[0]]
    if all(x.shape[: x.dim() - n] == first for x, n in zip(tensors, own, strict=True)):
        return first
    together: torch.Size = torch.broadcast_shapes(*(x.shape[: x.dim() - n] for x, n in zip(tensors, own, strict=True)))
    return together


def as_one(x: Tensor, own: int, lead: torch.Size) -> Tensor:
    """x with its leading axes as one, of size 1 where it is the same for all."""
    mine = x.shape[: x.dim() - own]
    if len(mine) == 1 and mine == lead:
        return x
    if all(size == 1 for size in mine):
        return x.reshape(1, *x.shape[x.dim() - own :])
    return x.expand(*lead, *x.shape[x.dim() - own :]).reshape(-1, *x.shape[x.dim() - own :])


def steps(x: Tensor) -> list[int]:
    """How far apart items are along each axis; 0 along one of size 1, which stands for all."""
    return [0 if size == 1 else step for size, step in zip(x.shape, x.stride(), strict=True)]


def block(size: int) -> int:
    """A tile that holds all of a depth: a power of 2, of at least 16."""
    return max(16, int(triton.next_power_of_2(size)))


def precision(x: Tensor) -> str:
    """How matrices of float32 are multiplied: in TF32 where PyTorch may do so, too."""
    if INTERPRETED:
        return "python"
    return "tf32" if torch.backends.cuda.matmul.allow_tf32 else "ieee"


TILES = {  # (bytes of a number, largest depth up to): rows, columns, warps, stages; of each pass
    "forward": {(2, 64): (128, 64, 4, 3), (2, 128): (64, 64, 4, 3), (2, 256): (64, 64, 8, 2)},
    "back_rows": {(2, 64): (128, 64, 8, 3), (2, 128): (128, 64, 8, 3), (2, 256): (64, 32, 8, 2)},
    "back_columns": {(2, 64): (64, 128, 8, 3), (2, 128): (64, 128, 8, 3), (2, 256): (32, 64, 8, 2)},
}


def tiles(part: str, depth: int, x: Tensor, rows: int = 1 << 30) -> tuple[int, int, dict[str, int]]:
    """The sizes of tiles of rows and of columns for a pass, and how it is launched. rows: how many there are."""
    if INTERPRETED:
        return 16, 16, {}
    room = 232_448  # bytes that tiles may take, where the device does not say
    if x.is_cuda:
        room = getattr(torch.cuda.get_device_properties(x.device), "shared_memory_per_block_optin", room)
    for (width, most), (high, wide, warps, stages) in TILES[part].items():
        if x.element_size() <= width and depth <= most:
            if type(rows) is int and rows <= FEW:
                return 16, 64, {"num_warps": 4, "num_stages": 2}
            if room < 110_000:
                return 64, 32, {"num_warps": 4, "num_stages": 1}
            return high, wide, {"num_warps": warps, "num_stages": stages if room > 210_000 else min(stages, 2)}
    return 16, 32, {"num_warps": 8, "num_stages": 1}  # exact products of float32 compile for long in larger tiles


FEW = 16  # rows: with no more, several programs share the columns
MANY = 32 if INTERPRETED else 512  # columns that a program is to have at least


def chunks_of(rows: int, columns: int, items: int) -> int:
    """By how many programs the columns of a tile of rows are shared, so that the device has enough to do."""
    count = 1
    if not (type(rows) is type(columns) is type(items) is int):  # a program for any sizes asks nothing of them
        return 8 if type(rows) is int and rows <= FEW else 1
    if rows <= FEW:
        while count < 32 and items * count < 128 and columns >= 2 * count * MANY:
            count *= 2
    return count


def join_shares(reads: Sequence[Tensor], stat: Tensor, kind: torch.dtype) -> list[Tensor]:
    """What programs read by softmax over parts of the columns, as over all: each weighs as its sum of exponentials."""
    logs = torch.where(stat == float("inf"), -stat, stat)
    top = logs.amax(0)
    base = torch.where(top == float("-inf"), 0.0, top)
    weights = torch.exp2(logs - base)
    total = weights.sum(0)
    divisor = torch.where(total == 0, 1.0, total)
    found = [((x * weights[..., None]).sum(0) / divisor[..., None]).to(kind) for x in reads]
    return [*found, torch.where(total == 0, float("inf"), base + torch.log2(divisor))]


def join_roots(reads: Sequence[Tensor], stat: Tensor, kind: torch.dtype) -> list[Tensor]:
    """The same of an L2 norm: squares of lengths add up."""
    inverse = stat.pow(-2).sum(0).rsqrt()
    return [*(((x / stat[..., None]).sum(0) * inverse[..., None]).to(kind) for x in reads), inverse]


def join_totals(reads: Sequence[Tensor], kind: torch.dtype) -> list[Tensor]:
    """The same of sums."""
    return [x.sum(0).to(kind) for x in reads]


def check_device(x: Tensor) -> None:
    """Raises RuntimeError where these kernels cannot run, TypeError for a type that they do not compute in."""
    if x.dtype not in (torch.float32, torch.bfloat16, torch.float16):
        raise TypeError(f"kernels of Triton compute in float32, bfloat16 and float16, not in {x.dtype}")
    if x.device.type == "cpu" and not INTERPRETED:
        raise RuntimeError(
            "these are kernels of Triton, which need a GPU: move the model and its inputs there, or set "
            "TRITON_INTERPRET=1 before Triton is imported, to run them slowly in Python"
        )


def check_size(axis: str, size: int, known: int) -> None:
    """Raises ValueError for another size than the kernels were written for."""
    if size != known:
        raise ValueError(f"these kernels are of {axis} = {known}, not {size}: compile the spec with that size")


def kernel_op(name: str):
    """An op of PyTorch made of kernels, through which `torch.compile` sees; not where these run in Python."""

    def registered(function):
        if not INTERPRETED:
            return torch.library.triton_op(name, mutates_args=())(function)
        op = torch.library.custom_op(name, mutates_args=())(function)
        op.register_fake(function)
        return op

    return registered


def launch(kernel, programs: tuple[int, int], *args, **how) -> None:
    """Runs so many programs of a kernel, along two axes."""
    if isinstance(args[0], FakeTensor) and INTERPRETED:
        return  # only shapes are asked for
    if INTERPRETED:
        if programs[0]:
            kernel[programs](*args)
        return
    torch.library.wrap_triton(kernel)[programs](*args, **how)


def fitted(gradient: Tensor, like: Tensor, missing: Sequence[int]) -> Tensor:
    """A gradient summed over the axes that what it is of lacks, or of which it has one for all."""
    if missing:
        gradient = gradient.sum(list(missing))
    if like.shape[0] != gradient.shape[0]:
        gradient = gradient.sum(0, keepdim=True)
    return gradient.to(like.dtype)
