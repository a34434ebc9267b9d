"""Modules of attention as people write them, drawn at random: for `attnc adopt`, which knows none of them."""
