"""The runtime of compiled definitions: how C++'s and OneFlow's values behave while generated code runs."""
