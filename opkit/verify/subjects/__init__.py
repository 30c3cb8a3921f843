"""Subjects: what the checker is given for an op directory, a PyLayer, a py_func or a pair of functions."""
