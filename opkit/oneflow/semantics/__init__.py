"""The rules of OneFlow alone: dtypes, training, schedules and checkpoints.

The rows below do not know them; the facade's other modules are names over them.
"""
