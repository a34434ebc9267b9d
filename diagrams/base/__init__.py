"""Lengths, colours, letters, curves: what a figure is made of, in no file format yet."""
