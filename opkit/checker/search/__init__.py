"""The search for cases of an op that brings none."""
