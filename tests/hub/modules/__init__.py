"""Modules as people write them, each in a style of its own: what `attnc adopt` is tried on."""
