"""What only Paddle means: dtypes and promotion, update formulas, layers of graphs, names, files and printing.

The rows below know none of it; the facade's other packages are names over it.
"""
