"""What the first form of `attnc adopt` does not know, and what is no module that it could read."""

import torch
from torch import nn
from torch.nn import functional as F

from .decoders import VOCAB, Apart, ApartBlock, Separate


class CappedScores(Apart):
    def scores(self, q, k):
        return 7 * torch.tanh(super().scores(q, k) / 7)


class CappedBlock(ApartBlock):
    attention = CappedScores


class Capped(Separate):
    block = CappedBlock


class OddFunctionBlock(ApartBlock):
    act = staticmethod(lambda x: x * torch.sigmoid(3 * x))


class OddFunction(Separate):
    block = OddFunctionBlock


class OddSumBlock(ApartBlock):
    def forward(self, x):
        x = x + self.attn(self.ln1(x))
        y = self.down(F.gelu(self.up(self.ln2(x))))
        return x + y * torch.tanh(x)


class OddSum(Separate):
    block = OddSumBlock


class SlowTurn(Apart):
    """Positions that turn queries and keys at a rate that nobody else has."""

    def scores(self, q, k):
        half = q.shape[-1] // 2
        angle = torch.outer(torch.arange(q.shape[-2], dtype=q.dtype), 0.3 / (1 + torch.arange(half, dtype=q.dtype)))

        def turned(x):
            a, b = x.chunk(2, -1)
            return torch.cat([a * angle.cos() - b * angle.sin(), b * angle.cos() + a * angle.sin()], -1)

        return super().scores(turned(q), turned(k))


class SlowBlock(ApartBlock):
    attention = SlowTurn


class SlowlyTurned(Separate):
    block = SlowBlock


class Mixed(Separate):
    """A convolution before the layers."""

    def __init__(self):
        super().__init__()
        self.near = nn.Conv1d(24, 24, 3, padding=1)

    def forward(self, idx):
        x = self.tok_emb(idx) + self.pos_emb[:, : idx.shape[1]]
        return self.head(self.ln_f(self.blocks(x + self.near(x.mT).mT)))


class Uneven(Separate):
    """Heads of another number in the second layer."""

    def __init__(self):
        super().__init__()
        self.blocks[1].attn.heads = 4


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.cell = nn.Embedding(VOCAB, 16), nn.GRU(16, 16, batch_first=True)

    def forward(self, ids):
        return self.cell(self.embed(ids))[0]


class Asks(Separate):
    """Takes more than can be guessed."""

    def forward(self, ids, factor, sizes):
        return super().forward(ids) * factor


class WritesOver(Separate):
    """Its gradients need what it has written over."""

    def forward(self, idx):
        x = self.tok_emb(idx) + self.pos_emb[:, : idx.shape[1]]
        for block in self.blocks:
            x += block.attn(x)
        return self.head(self.ln_f(x))


def asked():
    return {"ids": torch.arange(14).reshape(2, 7), "factor": 1.0, "sizes": [7, 7]}


def one_example():
    return torch.arange(7)[None], 1.0, []


class Fails(Separate):
    def forward(self, idx):
        raise ValueError("no such thing")


def broken():
    return Separate(size="large")


def number():
    return 3


class Thrice(Separate):
    """One layer, three times."""

    def __init__(self):
        super().__init__()
        self.blocks = nn.Sequential(*[self.blocks[0]] * 3)


class HeadsFirst(Apart):
    """Weights that lie as [heads, batch, queries, keys]."""

    def forward(self, x):
        q, k, v = (each(x).unflatten(-1, (3, -1)) for each in (self.query, self.key, self.value))
        scores = torch.einsum("bihd,bjhd->hbij", q, k).masked_fill(torch.ones(x.shape[1], x.shape[1]).triu(1) > 0, -1e9)
        return self.proj(torch.einsum("hbij,bjhd->bihd", scores.softmax(-1), v).flatten(2))


class HeadsFirstBlock(ApartBlock):
    attention = HeadsFirst


class Outside(Separate):
    block = HeadsFirstBlock
