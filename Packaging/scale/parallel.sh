#!/usr/bin/env bash
# The shards of a soak test by GNU parallel, on this machine or on those of --sshlogin, and the sum of their reports:
#
#   SHARDS=16 SEEDS=100000 Packaging/scale/parallel.sh reports
#   Packaging/scale/parallel.sh reports --sshlogin 8/one.example,8/two.example --return reports/{}.json
set -euo pipefail

reports=${1:?usage: parallel.sh FOLDER [OPTION OF PARALLEL...]}
shift
mkdir -p "$reports"
# A broken rule is in the report of its shard; the merge fails for it.
seq "${SHARDS:-8}" | parallel "$@" \
  easim soak --seeds "${SEEDS:-100000}" --jobs 1 --shard "{}/${SHARDS:-8}" --report "$reports/{}.json" >/dev/null || true
exec easim report merge "$reports" --report "$reports.json"
