"""The files of a model: what stands in each, and what they import of one another."""
