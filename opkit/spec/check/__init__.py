"""Checks: what compiles and is wrong all the same."""
