"""Parts of a graph that become one op with a kernel of its own."""
