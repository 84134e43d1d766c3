"""What a dataset holds: files are recognized by their bytes, read as a stream, and counted. Nothing here judges."""
