#!/bin/sh
# Slurm PrologSlurmctld, on the controller: a job of the partition `train` begins only while its run may start on the very
# nodes that it was given, or may come back on them after a requeue. The job's name is the run's: sbatch -J llama-70b.
# in slurm.conf:  PrologSlurmctld=/etc/slurm/prolog-slurmctld.sh
# in /etc/slurm/countersign.env (0600, of SlurmUser):  PORTAL=https://…  CLUSTER=helios  GATE_TOKEN=…  OPERATOR_TOKEN=…
# A code other than 0 requeues a batch job and cancels an interactive one; no node is drained for that.
PATH=/usr/local/bin:/usr/bin:/bin
. "${COUNTERSIGN_ENV:-/etc/slurm/countersign.env}"
[ "$SLURM_JOB_PARTITION" = "${PARTITION:-train}" ] || exit 0

# header TOKEN: kept off the command line, which everybody on the machine may read
header() { printf 'header = "Authorization: Bearer %s"\n' "$1"; }

# may PURPOSE: the gate's answer in words; succeeds on 200 only, so that a portal that is away keeps the job waiting
may() {
    answer=$(header "$GATE_TOKEN" | curl --silent --max-time 20 --config - --get --data-urlencode "run=$SLURM_JOB_NAME" \
        --data-urlencode "purpose=$1" --data-urlencode "nodes=$SLURM_JOB_NODELIST" --write-out '\n%{http_code}' \
        "$PORTAL/gate/$CLUSTER") || answer="unknown: the portal does not answer"
    echo "$SLURM_JOB_NAME on $SLURM_JOB_NODELIST, $1: $answer"
    case $answer in *"
200") return 0 ;; *) return 1 ;; esac
}

# tell ADDRESS BODY: note it at the portal, which asks its gate once more
tell() {
    header "$OPERATOR_TOKEN" | curl --silent --fail --max-time 20 --config - --output /dev/null \
        --header 'Content-Type: application/json' --data "$2" "$PORTAL/api/v1/runs/$SLURM_JOB_NAME/$1"
}

# A run that was never started cannot come back, and one that runs is not started twice: at most one of the two is told.
may restart && tell restarted "{\"nodes\": \"$SLURM_JOB_NODELIST\", \"reason\": \"Slurm job $SLURM_JOB_ID\"}" && exit 0
may start && tell started "{\"nodes\": \"$SLURM_JOB_NODELIST\"}" && exit 0
exit 1
