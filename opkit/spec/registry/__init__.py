"""The registry: registrations become ops and gradients that can be asked."""
