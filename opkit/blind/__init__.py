"""Blind: functions called once more in a process that looks like an ordinary run, which knows no expected value.

Nothing here knows of checks; frames and limits are those of every process that runs user code.
"""
