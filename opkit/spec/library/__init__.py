"""The library: the C++ types, functions and constants that definitions may use."""
