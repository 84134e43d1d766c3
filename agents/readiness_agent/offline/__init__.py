"""Measurements that disturb a job: only on a node taken for them, and only where its own configuration allows it."""
