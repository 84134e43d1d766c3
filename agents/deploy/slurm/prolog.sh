#!/bin/sh
# Slurm Prolog: holds the job, and drains this node, only for a proven fault of this node's hardware. Anything else
# (unknown, stale, unsigned, portal away) lets the job start here and is decided by the controller:
# in slurm.conf:  Prolog=/etc/slurm/prolog.d/readiness.sh
/usr/local/bin/readiness-agent gate --as slurm-prolog
# Any other code than 1 (no agent, no Python, killed) is no fault of this node: it must not drain a fleet.
[ $? -ne 1 ]
