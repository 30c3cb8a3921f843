"""Derivatives: numeric ones with bounds, and Jacobians compared with them."""
