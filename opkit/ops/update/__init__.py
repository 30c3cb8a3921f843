"""Model updates: they change a parameter and its state in place."""
