"""The version of opkit, for packages of every row.

The package itself hands it on as ``opkit.__version__``.
"""

__version__ = "0.1.0"
