"""What the frameworks have: tables of their public module paths and names, facts only."""

from opkit.shim.known.instead import instead_of
from opkit.shim.known.optional import OPTIONAL
from opkit.shim.known.table import Known, Table, table_of

__all__ = ["OPTIONAL", "Known", "Table", "instead_of", "table_of"]
