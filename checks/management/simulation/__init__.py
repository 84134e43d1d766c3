"""Nodes that are not there: what sound ones say, and agents that say it to a running portal."""
