"""A public measure of gradient checkers: which faults of an open corpus each finds, and which right ops it accuses.

The corpus is this repository's, ``tests/corpus``; what a checker is asked, and how, is in ``benchmarks/compared``.
"""
