"""Text: characters become tokens, and macros their replacement."""
