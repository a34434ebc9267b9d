"""Lengths, colours, letters, curves: what a figure is made of, before anyone writes it down."""
