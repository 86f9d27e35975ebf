"""A whole site from one declaration: which stacks it has, and the files that make them.

`sites/NAME.k` at the root says in KCL what a site is: on which clusters, for which tenants, which applications run
there and what is other about them. Each application is made after a stack that is there: `wb new site NAME` writes for
each a stack that lists the files of that one and then a `site.k`, which takes what is other from the declaration.

They are files, and not made up while planning: what is compiled can be read, held against the former in a review,
compiled by any KCL compiler, and is there when the declaration is broken or gone, so that it can be taken away. Values
are not in them: those flow from the declaration, where `wb explain` finds their lines.

- `declaration`: `Site`, out of what the program says.
- `writing`: its stacks and their files, and what is there already. Reads files, writes none.
"""
