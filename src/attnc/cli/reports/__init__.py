"""Commands that say what a model is and costs, and what two have otherwise."""
