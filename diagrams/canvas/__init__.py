"""What glyphs draw with, and where labels find a free place."""
