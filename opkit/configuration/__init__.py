"""Configuration: what ``[tool.opkit]`` of a pyproject.toml sets, with the line of each key.

Nothing is run or checked here; commands decide what to do with the settings.
"""

from opkit.configuration.configuration import Configuration, Override, Setting, read_configuration
from opkit.configuration.key import KEYS, Key

__all__ = ["KEYS", "Configuration", "Key", "Override", "Setting", "read_configuration"]
