#!/bin/sh
# Slurm HealthCheckProgram: always ends with 0, since slurmd does not register otherwise; drains this node by reason
# when the portal has proved a fault of its hardware and allows draining. It answers from a cache, at once.
# in slurm.conf:  HealthCheckProgram=/etc/slurm/readiness-health.sh  HealthCheckInterval=300  HealthCheckNodeState=ANY
/usr/local/bin/readiness-agent gate --as slurm-health
exit 0
