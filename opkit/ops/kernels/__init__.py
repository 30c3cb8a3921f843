"""Kernels: pure numpy that several ops share; nothing here knows an op."""
