"""gradcheck: targets are resolved, loaded and checked in isolated workers, and what comes of it is a Report."""
