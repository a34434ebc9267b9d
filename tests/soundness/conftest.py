"""Random programs by the thousand: the modules that they compile to are forgotten after each test.

A process keeps what it compiled, for `inspect.getsource`, tracebacks and pickles: about 0.4 MB for each program.
"""

from __future__ import annotations

import linecache
import sys
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def forget_generated_modules() -> Iterator[None]:
    yield
    for name in [name for name in sys.modules if name.startswith("attnc_generated_")]:
        del sys.modules[name]
        linecache.cache.pop(f"<{name}>", None)
