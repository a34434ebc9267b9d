"""The file of a model alone, as it is generated, without its whole checks of inputs."""

from __future__ import annotations

from typing import Any

from attnc.backends.numpy.module import numpy_code
from attnc.backends.torch.module import torch_code
from attnc.compiler.graph.nodes import Graph


def torch_source(graph: Graph, **asked: Any) -> str:
    return torch_code(graph, **{"checked": False, **asked}).default()


def numpy_source(graph: Graph, **asked: Any) -> str:
    return numpy_code(graph, **{"checked": False, **asked}).default()
