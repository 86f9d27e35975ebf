"""From a stack to what is on the clusters: each stage a value, each step between two stages one function.

spec       compiled documents → Spec (resources, where each field was said)
compile    stack → Spec
shipped    the same in a process that can be ended: evaluators holds them, evaluator_start begins one,
           evaluator_process is what runs in it, frames what goes between, memos what one keeps; migrating brings a
           repository of 2023 to today there
configuration  stack → cells, every value of its program with its line; cells are those as plain data, cube what is
           asked of many stacks, cube_index what was evaluated before, cube_conflicts where only order decides,
           cube_finals what nobody may override
compile_all  all stacks → files, each only when it is out of date: compiled_index knows, worker pools do the work
git        git, so that it runs nothing a checkout names
revisions  what git says has changed; commits is what it has, as a folder
impact     two sides of a change → what it does to each stack; impacts finds which stacks, and compiles both sides
graph      what comes before what
masking    secrets as digests
changes    what an apply would change, as values: `Change`, `FieldChange`, `StackDiff`
diff       prediction → fields in their classes
drift      what others changed, over many stacks and from look to look; taking it back or over
fleet      one look at each stack of a repository, and what the looks together say
live       live objects of any kind: which kind is meant, what clusters list of it
plan       the bound plan; planning makes one
events     what happens during an apply, as a closed union
execute    plan → stream of events
fleet_plan one plan over many stacks: their plans, in order, behind one confirmation
sites      a whole site: its stacks and their files, from one declaration
outputs    what stacks give to each other; reads is what a Spec has of that,
           stack_order which stacks come first for it
values     what references between resources stand for
place_kinds  what is true of all clusters, and of all workspaces; `places` has the places themselves
workspace  what is asked of a Terraform workspace, and its answer as changes; workspace_steps runs its part of a plan
narrowing  a Spec for some of its places, where the others cannot be asked or shall not be
pruning    what a cluster has and the configuration no longer names: deleted, or a gap that says why not
release    what was done, as it is recorded
identities which clusters are behind their names: a plan is refused on others, a release follows its own
status     the picture while things become ready; reconcile watches for it
whatif     edits over the files
field_edit an edit of one field, at the line that sets it
plugins    which Python functions the KCL of a repository may call here
versions   what tells this compiler from any other
errors     the root `EngineError`

Import from the modules: listing stacks must not load what planning needs.
"""
