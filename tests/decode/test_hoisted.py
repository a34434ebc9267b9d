"""Steps of models whose tables and masks are taken out of what runs several times; and what may not go with them."""

from __future__ import annotations

import pytest

import attnc

from .steps import check_steps

HEAD = "width seq\nwidth past like seq\ndepth model = 4\n"
BANDED = """model net(x: [seq, model]) -> [seq, model] causal seq {{
    v = x[seq = max(seq - 2, 0)]
    x = tanh(v)
    repeat.r 2 {{
        w = softmax[past](dot[model](x, x[seq as past]) where past <= seq and seq - past < 3{more})
        v = v + dot[past](w, x[seq as past])
    }}
    return v
}}
"""
CROSS = """use std.attention: multihead, model, heads
use std.positions: sinusoid
width seq, src
depth model = 8, heads = 2
const layers = 2
model net(x: [seq, model], mem: [src, model]) -> [seq, model] causal seq {{
    repeat layers{shared} {{
        x = x + multihead.cross[seq, src](x, {mem})
    }}
    return x
}}
"""
TWICE = """use std.attention: multihead, model, heads
use std.positions: sinusoid
width seq, src
depth model = 8, heads = 2
block see(x: [seq, model], mem: [src, model]) -> [seq, model] {
    return x + multihead.cross[seq, src](x, mem + sinusoid[src, model]())
}
model net(x: [seq, model], mem: [src, model]) -> [seq, model] causal seq {
    return see.a(see.b(x, mem), tanh(mem)) + multihead.c[seq, src](x, mem)
}
"""
NESTED = """const layers = 2, knob = 2, one = 1
block baz(x: [seq, model]) -> [seq, model] {{
    repeat layers{shared} {{
        repeat.a knob {{
            x = tanh(x)
        }}
    }}
    return x[seq = max(seq - knob, 0)]
}}
model net(x: [seq, model]) -> [seq, model] causal seq {{
    return baz.b[knob = one](baz.a(x))
}}
"""
CASES = {
    # The new `x` had the name of a remembered one, whose length was read off it.
    "a name borne anew, and a mask with gaps": HEAD + BANDED.format(more=" and seq - past != 1"),
    "a name borne anew, and a band": HEAD + BANDED.format(more=""),
    # What fills the cache in `prepare` makes no value, and went as if it were a table.
    "positions of what is attended to": CROSS.format(shared="", mem="mem + sinusoid[src, model]()"),
    "the same in passes with shared weights": CROSS.format(shared=" shared", mem="mem + sinusoid[src, model]()"),
    "a formula of positions": CROSS.format(shared="", mem="mem * broadcast[model](cos(src))"),
    "another item of what is attended to": CROSS.format(shared="", mem="mem[src = max(src - 1, 0)]"),
    "the same in a block called twice, and a block where nothing goes": TWICE,
    # The modules of a step's repeats were made with the consts of another call.
    "repeats without weights that differ by a const": HEAD + NESTED.format(shared=""),
    "the same within passes that share what they lack": HEAD + NESTED.format(shared=" shared"),
}


@pytest.mark.parametrize("text", CASES.values(), ids=CASES)
def test_steps_are_those_of_the_whole(text: str) -> None:
    check_steps(attnc.loads(text).model("net"))
