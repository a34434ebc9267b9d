"""Mistakes that are seen where places are looked at one by one: what a mask, a turn or a target is there."""
