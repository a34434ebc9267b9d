"""From a typed graph to a model that runs."""
