"""From a graph to what will be drawn: a flat list of steps over tensors. Nothing here has a position yet."""
