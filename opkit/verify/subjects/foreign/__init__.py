"""Foreign: what the custom functions of other frameworks have in common as subjects; no framework is imported here."""
