"""The corpora on which gradient checkers are compared, one module for each kind of op; run ``gradcheck_compare.py``."""
