"""Reductions and running results along axes."""
