"""Numbers as they are meant: whole ones exact, gradients finite."""
