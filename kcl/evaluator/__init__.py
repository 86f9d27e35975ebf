"""Evaluation of a loaded KCL program to values, with the source positions that decided each of them.

`evaluate.evaluate` is the way in. Inside, what happens to values is kept apart from how the syntax tree becomes code:

    value, dialect           the values, and how the language is read where its versions differ
    operations, numbers      operators and text
    union                    merging: `|`, configuration entries, attributes that meet their configuration
    runtime_types            types values are held to, and what to say when they do not fit
    sites, provenance        places in the source; the table of them, and look-ups by path in the output
    cached_provenance        the same look-ups in what another process, or an earlier run, packed
    environments             what compiled code is, and the variables it runs with
    scopes                   variables that do not depend on the order they are written in
    runtime                  what one evaluation shares
    layouts, schemas         what the instances of a schema share; schemas and how an instance comes to be
    functions                lambdas, rules and calls
    parameters, attributes   binding arguments; members of values

    lexical, names           what a name means where it stands
    lowering                 the table of how each kind of expression is compiled to a closure
    expressions, calls, configurations, type_lowering
    lambda_statements, statements, schema_lowering
    evaluate                 packages, the result, the thread it all runs in
"""
