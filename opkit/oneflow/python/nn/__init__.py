"""``oneflow.python.nn``: modules and parameters of dynamic mode, where v0.4 defines them."""
