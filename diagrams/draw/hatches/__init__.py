"""Hatched wires: short strokes across them, which say where their items lie. One way of hatching a file."""
