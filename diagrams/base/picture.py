"""A finished figure as shapes, curves and text: what `formats` writes as DOT or TikZ."""

from __future__ import annotations

from dataclasses import dataclass, field

from .text import Rich

Point = tuple[float, float]
Box = tuple[float, float, float, float]  # left, top, right, bottom; y downwards


@dataclass(slots=True)
class Node:
    """A shape or a piece of text. Its shape is one of Graphviz's, or `cut` or `grid` (pieces.py)."""

    id: str
    at: Point
    attributes: dict[str, str]
    label: Rich = ()


@dataclass(slots=True)
class Edge:
    tail: str
    head: str
    points: list[Point]  # 3 n + 1 of them: a chain of Bezier curves
    attributes: dict[str, str]


@dataclass(slots=True)
class Cluster:
    id: str
    box: Box
    label: Rich
    label_at: Point
    fill: str
    tip: str
    size: float
    cls: str = ""


@dataclass(slots=True)
class Picture:
    """Points, y downwards, before scaling."""

    nodes: list[Node] = field(default_factory=list)
    edges: list[Edge] = field(default_factory=list)
    clusters: list[Cluster] = field(default_factory=list)
