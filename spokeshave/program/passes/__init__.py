"""Passes over a model, one a file."""
