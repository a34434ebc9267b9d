"""Sizes: axes, numbers known at build time, exact arithmetic over them, facts about indices. All else stands on it."""
