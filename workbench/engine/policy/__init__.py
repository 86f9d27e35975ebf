"""Policies: what of a stack's Spec, and of a plan for it, the repository or its user does not put up with.

findings   what is found, and what a rule yields
rules      what a rule is, and the parameters it takes
of_specs   rules about what a stack says: images, limits, replicas, labels, access to nodes
of_plans   rules about what is to be done: deletions, numbers of changes, windows of time, who
registry   rules by name
checks     rules written in KCL
judging    policies × Spec or plan → report

Where it cannot be told whether something is allowed, it is not: a check that fails to run, a value that only applying
decides, and a file that is broken refuse a plan, as what is found does.
"""
