"""How far information travels along a width, and in how many hops."""
