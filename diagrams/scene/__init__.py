"""From a graph to what is to be drawn: a flat list of steps over tensors. Nothing here knows of places."""
