"""Faults: runs that are killed, disks that are full, readers and writers that race."""
