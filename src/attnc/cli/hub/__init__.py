"""The commands for published models."""
