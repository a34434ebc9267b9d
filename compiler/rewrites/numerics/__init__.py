"""Numbers as the spec means them: whole ones exact, gradients finite."""
