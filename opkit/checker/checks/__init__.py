"""The checks, one module per subject; each check has its own code."""
