"""Commands for models on many devices."""
