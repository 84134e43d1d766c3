#!/bin/sh
# A step of any CI: goes on only when the run may start now, or may come back. In the environment: PORTAL, CLUSTER, RUN,
# TOKEN (a gate token, from the CI's secrets); PURPOSE=restart for a run that was interrupted; NODES to ask about some.
#   RUN=llama-70b ./may-start.sh && sbatch train.sbatch
set -u
answer=$(printf 'header = "Authorization: Bearer %s"\n' "$TOKEN" |
    curl --silent --max-time 20 --config - --get --data-urlencode "run=$RUN" --data-urlencode "purpose=${PURPOSE:-start}" \
        ${NODES+--data-urlencode "nodes=$NODES"} --write-out '\n%{http_code}' "$PORTAL/gate/$CLUSTER") ||
    answer="unknown: the portal does not answer"
echo "$answer"
case $answer in *"
200") exit 0 ;; esac
exit 1
