"""Subjects of JAX: ``jax.custom_vjp``, ``jax.custom_jvp`` and plain functions.

Imported only when a user's file has imported JAX.
"""
