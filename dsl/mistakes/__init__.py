"""What is wrong with a text that does not parse, and how it is mended."""
