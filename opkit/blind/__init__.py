"""Blind: functions called once more in a process that looks like an ordinary run, which knows no expected value.

Nothing here knows of checks: what is called, and what follows from the answers, is decided elsewhere.
"""
