"""What the frameworks have: tables of their public module paths and names, facts only."""

from opkit.shim.known.table import OPTIONAL, Known, Table, instead_of, table_of

__all__ = ["OPTIONAL", "Known", "Table", "instead_of", "table_of"]
