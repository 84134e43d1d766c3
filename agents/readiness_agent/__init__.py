"""Measures a node and reports facts; it never judges. Standard library only, Python 3.9 and later."""

__version__ = "0.1.0"
