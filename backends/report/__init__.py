"""What the backends make of a model, in words."""
