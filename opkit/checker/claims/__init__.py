"""The prover of sharding claims: cases, cuts, comparisons, candidates that nobody claims, and the report of an op."""
