"""The typed graph: its nodes, the values in them, and what can be read off a graph without changing it."""
