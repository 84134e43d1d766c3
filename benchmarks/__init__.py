"""What is fast, and how fast, as commands. Each prints ratios of cases that ran interleaved in the same minutes."""
