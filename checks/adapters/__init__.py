"""Evidence from tools that people already run: their files become facts under our names, never verdicts of theirs."""
