"""The core: what an op is, how it is registered, inferred and applied."""
