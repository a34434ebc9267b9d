"""Questions of a graph by itself, which all that call it would ask again."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

from ..nodes import Graph

T = TypeVar("T")


def kept(question: Callable[[Graph], T]) -> Callable[[Graph], T]:
    """Answered once for each graph object, which keeps the answer."""
    name = f"{question.__module__}.{question.__qualname__}"

    @wraps(question)
    def answer(graph: Graph) -> T:
        answers: dict[str, Any] = vars(graph).setdefault("_answers", {})
        if name not in answers:
            answers[name] = question(graph)
        found: T = answers[name]
        return found

    return answer
