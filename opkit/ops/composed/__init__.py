"""Functions composed of ops, which provide the gradients; each follows the dialect of its operands."""
