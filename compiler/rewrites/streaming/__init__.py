"""Rewrites after which streaming regions (`compiler/streams`) show: nothing that they compute changes."""
