"""What only OneFlow means: training, schedules, checkpoints; framework-free rows know none of it."""
