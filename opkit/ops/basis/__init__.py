"""The basis: creation, sums and broadcasting, arithmetic. All other families use these."""
