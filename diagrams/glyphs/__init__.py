"""Each mark, drawn."""
