"""How much memory `attnc adopt` takes of a module, over its weights: run in a process of its own."""

from __future__ import annotations

import resource
import sys
import tempfile
from pathlib import Path
from typing import Any

import torch
from torch import nn

from attnc import hub


class Block(nn.Module):
    def __init__(self, size: int) -> None:
        super().__init__()
        self.heads = nn.MultiheadAttention(size, 8, batch_first=True)
        self.first, self.second = nn.LayerNorm(size), nn.LayerNorm(size)
        self.up, self.down = nn.Linear(size, 4 * size), nn.Linear(4 * size, size)

    def forward(self, x: Any) -> Any:
        y = self.first(x)
        mask = torch.triu(torch.ones(x.shape[1], x.shape[1]), 1).bool()
        x = x + self.heads(y, y, y, attn_mask=mask, need_weights=False)[0]
        return x + self.down(nn.functional.gelu(self.up(self.second(x))))


class Decoder(nn.Module):
    def __init__(self, size: int, layers: int, vocab: int) -> None:
        super().__init__()
        self.table, self.places = nn.Embedding(vocab, size), nn.Embedding(64, size)
        self.blocks = nn.ModuleList(Block(size) for _ in range(layers))
        self.last, self.head = nn.LayerNorm(size), nn.Linear(size, vocab, bias=False)
        self.head.weight = self.table.weight

    def forward(self, ids: Any) -> Any:
        x = self.table(ids) + self.places(torch.arange(ids.shape[1]))
        for block in self.blocks:
            x = block(x)
        return self.head(self.last(x))


def small() -> nn.Module:
    return Decoder(16, 1, 30)


def large() -> nn.Module:
    return Decoder(512, 10, 16000)


def used() -> int:
    """Bytes of memory now."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


if __name__ == "__main__":
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        hub.adopt("tests.hub.adopting_memory:small", Path(folder) / "small")
        before = used()
        found = hub.adopt("tests.hub.adopting_memory:large", Path(folder) / "large")
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    weights = 4 * sum(spec.size for spec in found.model.weights.values())
    print(f"{(most - before) / weights:.2f} {weights} {found.verdict}", file=sys.stdout)
