"""Failures: remembered, shown and reproduced."""
