"""Ops whose definitions claim sharding signatures: right ones with full claims, and false claims of ten kinds."""
