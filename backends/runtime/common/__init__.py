"""Carried along by code of both backends."""
