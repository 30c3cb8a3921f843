"""The registry: registrations become ops and gradients that infer and build."""
