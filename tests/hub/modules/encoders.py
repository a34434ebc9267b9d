"""Encoders of items and of pictures, and encoders with decoders."""

import math

import torch
from torch import nn
from torch.nn import functional as F

VOCAB = 30


class Waves(nn.Module):
    def __init__(self, size, longest=40):
        super().__init__()
        angle = torch.outer(torch.arange(longest).float(), 10000 ** (-torch.arange(0, size, 2).float() / size))
        self.register_buffer("pe", torch.stack([angle.sin(), angle.cos()], -1).flatten(1)[None])

    def forward(self, x):
        return x + self.pe[:, : x.shape[1]]


class Library(nn.Module):
    """PyTorch's own layers."""

    def __init__(self, first=False, size=16):
        super().__init__()
        self.embed, self.waves = nn.Embedding(VOCAB, size, padding_idx=0), Waves(size)
        layer = nn.TransformerEncoderLayer(size, 2, 32, batch_first=True, norm_first=first)
        self.encoder = nn.TransformerEncoder(layer, 3, enable_nested_tensor=False)
        self.label = nn.Linear(size, 5)

    def forward(self, ids):
        return self.label(self.encoder(self.waves(self.embed(ids) * 4.0)).mean(1))


def library_first():
    return Library(first=True)


class LibraryPair(nn.Module):
    def __init__(self, size=16):
        super().__init__()
        self.source, self.target, self.waves = nn.Embedding(VOCAB, size), nn.Embedding(25, size), Waves(size)
        self.both = nn.Transformer(size, 2, 2, 1, 32, batch_first=True)
        self.out = nn.Linear(size, 25)

    def forward(self, src, tgt):
        mask = nn.Transformer.generate_square_subsequent_mask(tgt.shape[1])
        return self.out(self.both(self.waves(self.source(src)), self.waves(self.target(tgt)), tgt_mask=mask))


class Words(nn.Module):
    """As BERT: norms behind, segments, a head that guesses words."""

    def __init__(self, size=24, heads=3):
        super().__init__()
        self.word, self.place, self.kind = (nn.Embedding(n, size) for n in (VOCAB, 20, 2))
        self.norm, self.heads = nn.LayerNorm(size, eps=1e-12), heads
        self.layer = nn.ModuleList()
        for _ in range(2):
            parts = {name: nn.Linear(size, size) for name in ("query", "key", "value", "output")}
            parts |= {"up": nn.Linear(size, 40), "down": nn.Linear(40, size)}
            parts |= {"seen": nn.LayerNorm(size, eps=1e-12), "fed": nn.LayerNorm(size, eps=1e-12)}
            self.layer.append(nn.ModuleDict(parts))
        self.guess, self.guessed = nn.Linear(size, size), nn.LayerNorm(size, eps=1e-12)
        self.bias = nn.Parameter(torch.zeros(VOCAB))
        self.pooler = nn.Linear(size, size)  # used in training alone

    def forward(self, input_ids):
        places = torch.arange(input_ids.shape[1])
        x = self.norm(self.word(input_ids) + self.place(places) + self.kind(torch.zeros_like(input_ids)))
        for part in self.layer:
            q, k, v = (
                part[name](x).unflatten(-1, (self.heads, -1)).transpose(1, 2) for name in ("query", "key", "value")
            )
            heard = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2)
            x = part["seen"](x + part["output"](heard))
            x = part["fed"](x + part["down"](F.gelu(part["up"](x))))
        return {"logits": self.guessed(F.gelu(self.guess(x))) @ self.word.weight.T + self.bias}


class ItemsFirst(nn.Module):
    """[items, batch, model] inside, no positions."""

    def __init__(self, size=16):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, size)
        self.encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(size, 2, 32, activation="gelu"), 2)
        self.out = nn.Linear(size, VOCAB)

    def forward(self, ids):
        mask = nn.Transformer.generate_square_subsequent_mask(ids.shape[1])
        return self.out(self.encoder(self.embed(ids.T), mask, is_causal=True)).transpose(0, 1)


# -- an encoder and a decoder in the form that is taught -------------------------------------------------------------


class SpreadNorm(nn.Module):
    def __init__(self, size, eps=1e-6):
        super().__init__()
        self.gain, self.shift, self.eps = nn.Parameter(torch.ones(size)), nn.Parameter(torch.zeros(size)), eps

    def forward(self, x):
        return self.gain * (x - x.mean(-1, keepdim=True)) / (x.std(-1, keepdim=True) + self.eps) + self.shift


class Attends(nn.Module):
    def __init__(self, size, heads):
        super().__init__()
        self.heads, self.linears = heads, nn.ModuleList([nn.Linear(size, size) for _ in range(4)])

    def forward(self, query, memory, mask):
        q, k, v = (
            linear(x).view(len(x), -1, self.heads, x.shape[-1] // self.heads).transpose(1, 2)
            for linear, x in zip(self.linears, (query, memory, memory), strict=False)
        )
        scores = (q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])).masked_fill(mask.unsqueeze(1) == 0, -1e9)
        return self.linears[3]((scores.softmax(-1) @ v).transpose(1, 2).flatten(2))


class Taught(nn.Module):
    def __init__(self, size=16, heads=4, layers=2):
        super().__init__()
        self.size, self.waves = size, Waves(size)
        self.table = nn.Embedding(VOCAB, size)

        def many(count, made):
            return nn.ModuleList([nn.ModuleList([made() for _ in range(count)]) for _ in range(layers)])

        def feed():
            return nn.Sequential(nn.Linear(size, 40), nn.ReLU(), nn.Linear(40, size))

        self.hears, self.enters, self.feeds = (
            many(1, lambda: Attends(size, heads)),
            many(2, lambda: SpreadNorm(size)),
            many(1, feed),
        )
        self.tells, self.leaves, self.fed = (
            many(2, lambda: Attends(size, heads)),
            many(3, lambda: SpreadNorm(size)),
            many(1, feed),
        )
        self.norms, self.out = nn.ModuleList([SpreadNorm(size), SpreadNorm(size)]), nn.Linear(size, VOCAB)

    def forward(self, src, tgt, src_mask, tgt_mask):
        x, y = (self.waves(self.table(ids) * math.sqrt(self.size)) for ids in (src, tgt))
        for attend, norm, feed in zip(self.hears, self.enters, self.feeds, strict=True):
            z = norm[0](x)
            x = x + attend[0](z, z, src_mask)
            x = x + feed[0](norm[1](x))
        memory = self.norms[0](x)
        for attend, norm, feed in zip(self.tells, self.leaves, self.fed, strict=True):
            z = norm[0](y)
            y = y + attend[0](z, z, tgt_mask)
            y = y + attend[1](norm[1](y), memory, src_mask)
            y = y + feed[0](norm[2](y))
        return self.out(self.norms[1](y)).log_softmax(-1)


# -- pictures ---------------------------------------------------------------------------------------------------------


class Looks(nn.Module):
    def __init__(self, size, heads, key, bias):
        super().__init__()
        self.heads, self.to_qkv = heads, nn.Linear(size, 3 * heads * key, bias=bias)
        self.to_out = nn.Linear(heads * key, size)

    def forward(self, x):
        q, k, v = (one.unflatten(-1, (self.heads, -1)).transpose(1, 2) for one in self.to_qkv(x).chunk(3, dim=-1))
        weights = (q @ k.mT * q.shape[-1] ** -0.5).softmax(-1)
        return self.to_out((weights @ v).transpose(1, 2).flatten(2))


class Cut(nn.Module):
    """Patches cut by hand, normed before and behind their map; the norms are inside of the parts."""

    def __init__(self, side=16, patch=4, size=24):
        super().__init__()
        count, pixels, self.patch = (side // patch) ** 2, 3 * patch * patch, patch
        self.to_patch = nn.Sequential(nn.LayerNorm(pixels), nn.Linear(pixels, size), nn.LayerNorm(size))
        self.pos_embedding = nn.Parameter(torch.randn(1, count + 1, size))
        self.cls_token = nn.Parameter(torch.randn(1, 1, size))
        self.layers = nn.ModuleList(
            nn.ModuleList(
                [
                    nn.Sequential(nn.LayerNorm(size), Looks(size, 4, 8, False)),
                    nn.Sequential(nn.LayerNorm(size), nn.Linear(size, 48), nn.GELU(), nn.Linear(48, size)),
                ]
            )
            for _ in range(2)
        )
        self.norm, self.head = nn.LayerNorm(size), nn.Linear(size, 10)

    def forward(self, img):
        batch, colours, high, wide = img.shape
        p = self.patch
        x = img.reshape(batch, colours, high // p, p, wide // p, p).permute(0, 2, 4, 3, 5, 1)
        x = self.to_patch(x.reshape(batch, -1, p * p * colours))
        x = torch.cat([self.cls_token.expand(batch, -1, -1), x], 1) + self.pos_embedding
        for attend, feed in self.layers:
            x = attend(x) + x
            x = feed(x) + x
        return self.head(self.norm(x[:, 0]))


class Convolved(nn.Module):
    """Patches by a convolution, two tokens before them, layers whose parts are scaled."""

    def __init__(self, img_size=16, size=24):
        super().__init__()
        self.img_size, self.proj = img_size, nn.Conv2d(3, size, 4, 4)
        self.cls_token, self.reg_token = (nn.Parameter(torch.zeros(1, 1, size)) for _ in range(2))
        self.pos_embed = nn.Parameter(torch.zeros(1, 18, size))
        self.blocks = nn.ModuleList()
        for _ in range(2):
            block = nn.Module()
            block.norm1, block.norm2 = nn.LayerNorm(size, eps=1e-6), nn.LayerNorm(size, eps=1e-6)
            block.attn, block.fc1, block.fc2 = Looks(size, 3, 8, True), nn.Linear(size, 40), nn.Linear(40, size)
            block.ls1, block.ls2 = (nn.Parameter(torch.ones(size)) for _ in range(2))
            self.blocks.append(block)
        self.norm, self.head = nn.LayerNorm(size, eps=1e-6), nn.Linear(size, 7)

    def forward(self, x):
        x = self.proj(x).flatten(2).transpose(1, 2)
        tokens = [one.expand(len(x), -1, -1) for one in (self.cls_token, self.reg_token)]
        x = torch.cat([*tokens, x], 1) + self.pos_embed
        for block in self.blocks:
            x = x + block.ls1 * block.attn(block.norm1(x))
            x = x + block.ls2 * block.fc2(F.gelu(block.fc1(block.norm2(x))))
        return self.head(self.norm(x)[:, 0])
