"""What stops the quickstart."""


class QuickstartError(Exception):
    """One sentence for the person at the terminal: what is wrong and what to do."""
