"""What only OneFlow means: dtypes, training, schedules and checkpoints.

The rows below know none of it; the facade's other modules are names over it.
"""
