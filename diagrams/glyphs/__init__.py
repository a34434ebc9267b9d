"""A function for each mark: it draws the glyph of a step on the canvas, and begins and ends wires there."""
