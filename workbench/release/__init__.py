"""Where releases are kept: in the clusters that a stack goes to, in a bucket, or on this machine alone.

shared      the releases of a session: read for a plan, held and written by an apply
history     what places say, put together
contract    what a place has to do
remote_records  a cluster, or a bucket, as such a place
in_bucket   what clusters keep for that, in a bucket
in_folder   and in a folder of this machine
stored      both as bytes
objects     a bucket: read, and written only over what was read
packing     release ↔ secrets of a cluster
lease       one worker a stack at a time, on whatever machine
rollouts    the rollouts of a repository: begun, asked, carried out, from every machine
rollout_listing  what is known of them
stored_rollouts  one place that keeps some; the claims on their stacks; who carries one out
rollout_packing  rollout ↔ secret of a cluster
rollout_log  the records of one for whoever carries it out: fenced
former_rollouts  those that older versions kept on this machine
folder      the folder of this machine as such a place
repository  which repository this is, by a name that every machine gives it
store       records on this machine, newest first, written atomically; the key that seals their secrets
lock        one worker a stack at a time on this machine
encoding    release ↔ JSON
checkouts   which checkout records belong to, and what others on this machine have of a stack
files       writing so that a crash, or a full disk, leaves the old or the new and nothing else
"""

from workbench.release.lock import Lock
from workbench.release.store import ReleaseJournal, ReleaseStore

__all__ = ["Lock", "ReleaseJournal", "ReleaseStore"]
