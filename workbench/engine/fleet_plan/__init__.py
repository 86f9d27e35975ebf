"""One plan over many stacks: what each of them gets, in which order, behind one confirmation.

A `FleetPlan` adds nothing to how a stack is changed. It is an ordered collection of the plans of single stacks, the
outputs that they read of each other as its edges, one id over all of them and one confirmation that names the blast
radius. Each stack still has its own guards, policies, lock, release and entry in the audit trail: its plan is applied
as any other, by the same code.

What it is beside a rollout: a rollout takes a change out bit by bit, in batches of components that `rollout.yaml` says,
over days and machines, and has a record of its own. A plan over many stacks is done in one go, stack by stack as a
whole. It needs no record: the releases tell what was done (each has the id of the run), and what is live tells the
rest. So it is resumed by planning again, where a stack that is as planned has nothing to do, or from its file.

- `values`: `FleetPlan`, `Deferred`, `Unplanned`, `BlastRadius`.
- `making`: the plans of stacks, side by side; a stack that reads what the same plan makes is deferred.
- `approved`: whether a plan made again is what was approved.
- `execute`: stage by stage; halts at the first stack that fails or is not ready.
- `reverting`: what a run did to a stack, and whether it can be taken back.
- `file`: saved, and made again.

A stack that reads an output which another stack of the plan changes is planned again once that is applied and ready,
as a field that is known after apply is in the plan of one stack. Only the fields that read the output may come out
otherwise then. Where it has no value yet, nothing can be compared before: the stack is `Deferred`. What is approved of
it is its configuration, for creating and updating what that names, and no more. Anything else halts the run.

Not known is never well: one stack that can't be compiled, compared or ordered refuses the whole, unless it is skipped
by name.
"""
