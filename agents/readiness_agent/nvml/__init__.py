"""NVIDIA's management library, asked by a small interpreter of its own: neither its memory nor its hanging is ours."""
