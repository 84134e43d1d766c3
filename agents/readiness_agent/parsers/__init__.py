"""Pure text to records, one module a tool's output. Nothing here opens a file, runs a command or judges.

A parser that meets text of another shape raises :class:`readiness_agent.facts.Unreadable`, or leaves the field
``None``: never a zero, never a guess.
"""
