"""Resources that Terraform or OpenTofu holds, a workspace a stack.

    runtime         the contract of `runtimes.base`: Runtime and Workspace
    workspace       survey and apply_all: what is done in which order, in the folder of the stack
    run             an apply that runs, told and interrupted
    terraform       the commands that are needed: init, plan, show, apply, state
    process         starting processes: the only module that does
    arguments, binary, cli_config, folder    what they are started with and where
    events          what terraform tells while it works
    record, adoption, former    what is written down for the next time; looking for what a killed apply created
    watch           the state of each resource, as it changes
    configuration, configured    main.tf.json is written; what was written, and the way back from its lines
    settings, providers, expressions, document, names    its parts: extensions, providers, values, text, addresses
    schema, values    types of attributes; masks, secrets and what is the same
    plan, planned, proposed, bodies, live    what it answers, as plans and live resources
    state, diagnostics    what it recorded, and what went wrong

Nothing is read off a screen: plans, states, events and diagnostics are JSON. Nothing but terraform writes its state.
"""
