"""Check files for Functions that packages ship; what is true of each is in ``listed.py``."""
