"""What rewrites share: walking nested graphs, and carrying nodes from one graph into another."""
