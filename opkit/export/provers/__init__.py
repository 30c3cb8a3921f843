"""Provers: what runs in a process of its own beside a framework and compares an exported file with numpy's results."""
