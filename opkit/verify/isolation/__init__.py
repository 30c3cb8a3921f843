"""Isolation: processes that outlive what user code does, and what is known of a dead one."""
