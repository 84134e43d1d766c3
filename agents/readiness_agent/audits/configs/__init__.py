"""How a run is configured, read without running anything: DeepSpeed's JSON, launch scripts, and training code.

What such a look cannot decide is a problem of its item (*unknown*), never a pass.
"""
