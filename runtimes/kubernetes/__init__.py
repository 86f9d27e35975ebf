"""Kubernetes clusters as runtimes, over `kubernetes.aio`.

    kubeconfig    contexts and users of kubeconfig files, parsed
    credentials   request headers from them, renewed as they run out
    rest_client   the REST client of `kubernetes.aio`, without the rest of that package
    staying       that client, for one server: it follows nobody elsewhere, and waits for its sockets when closed
    transport     the only HTTP: time limits, what is repeated, errors
    server_clock  what time it is by the dates of a server's answers
    failures      from the server's Status to our errors
    lost          why no answer came, in words
    discovery     which kinds are served under which paths
    together      requests in flight together, none of which outlives the failure of another
    listing       every kind listed once: what carries the labels of a stack
    apply_body    the bytes of a server-side apply, which a YAML reader reads
    client        the verbs of the API over dict bodies
    fields        managedFields: owners, list keys, conflicts
    normalize     from a live object to what a configuration can be compared with
    ownership     whether an apply would change anything, told by managedFields, pure
    predict       dry runs, where they are needed
    objects       the objects of one moment, indexed by owner, name and namespace
    health/       objects to Health, one file a kind or family, pure
    tree          who owns whom, by uid, pure
    why           the deepest object that explains a status, pure
    informer      one kind in one namespace, kept up to date
    log_tails     the last lines of containers that are to blame
    watch         informers folded into observations
    runtime       `KubernetesRuntime`, which puts them together

Import `runtimes.kubernetes.runtime` for the runtime; this package imports nothing by itself.
"""
