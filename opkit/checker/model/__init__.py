"""The model of a check: op, case, evaluation, result, report."""
