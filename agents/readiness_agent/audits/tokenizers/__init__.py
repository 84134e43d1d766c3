"""Two tokenizers: what their files say, and what they do with hard texts."""
