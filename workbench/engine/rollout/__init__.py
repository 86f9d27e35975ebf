"""A change that goes out bit by bit: over stacks, clusters and components, as long as what has it is healthy.

values     targets, stages, batches, and what a rollout is said to have done
schedule   plans of stacks → stages of batches of targets
reading    outputs that its stacks read of each other
progress   what was recorded → where a rollout stands, and what comes next
execute    batch by batch: planned, applied, watched; it halts at the first thing that is not as it should be
records    records as text and back

The order and the gates are the repository's (`workbench.project.rollout`); when changes may be made, and what, is up to
policies, which each batch's plan is judged by as any plan is.
"""
