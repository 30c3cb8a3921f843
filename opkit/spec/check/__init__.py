"""Checks: mistakes in definitions that compile."""
