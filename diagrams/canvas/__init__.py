"""What glyphs draw with, and where letters find a free place."""
