"""Where every step, wire and glyph of a scene lies on the page: columns, rows, heights; and how large glyphs are."""
