"""The rules of Paddle alone: dtypes and promotion, update formulas, layers of graphs, names, files and printing.

The rows below do not know them; the facade's other packages are names over them.
"""
