"""The basis: tensors made, sums and broadcasting, arithmetic. Every other family rests on these."""
