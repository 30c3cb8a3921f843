"""Tracing: a numpy kernel run on recording arrays becomes a small graph of array operations. It knows no framework."""
