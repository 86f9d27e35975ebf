"""Kubernetes clusters as runtimes, over `kubernetes.aio`.

    kubeconfig         contexts and users of kubeconfig files, parsed
    credentials        request headers from them, renewed as they run out
    rest_client        the REST client of `kubernetes.aio`, without the rest of that package
    pinned_client      that client, for one server: it follows nobody elsewhere, and waits for its sockets when closed
    transport          the only HTTP: time limits, what is repeated, errors
    hedging            when a request whose answer is overdue is sent once more
    silences           how long a server may say nothing, once it hung
    server_clock       what time it is by the dates of a server's answers
    failures           from the server's Status to our errors
    connection_errors  why no answer came, in words
    anothers           kinds that another server may serve behind the API server
    single_flight      one call for all who want its result at the same time
    together           requests in flight together, none of which outlives the failure of another
    discovery          which kinds are served under which paths
    apply_body         the bytes of a server-side apply, which a YAML reader reads
    client             the verbs of the API over dict bodies
    listing            every kind listed once: what carries the labels of a stack
    tables             lists as the server prints them
    fields             managedFields: owners, list keys, conflicts
    field_removal      taking away fields that nobody applies, pure
    normalize          from a live object to what a configuration can be compared with
    ownership          whether an apply would change anything, told by managedFields, pure
    predict            dry runs, where they are needed
    records            Secrets and leases of this program's own
    objects            the objects of one moment, indexed by owner, name and namespace
    relations          which objects an object names or selects, and which name or select it
    health/            objects to Health, one file a kind or family, pure
    tree               who owns whom, by uid, pure
    why                the deepest object that explains a status, pure
    trimming           what a watch holds of the objects it gets
    event_room         which Events are kept where there are too many
    informer           one kind in one namespace, kept up to date
    liveness           whether the server answers, and is that of the same cluster
    subjects           whose state a change may alter
    log_tails          the last lines of containers that are to blame
    watch              informers folded into observations
    feed               what is found out by one task, and given on as it changes
    log_feed           what containers write, as it comes
    table_feed         a kind as a table, kept up to date
    metrics            what pods and nodes use
    attaching          programs in containers and ports of pods
    operations         what is done to a cluster by hand: scale, restart, drain
    runtime            `KubernetesRuntime`, which puts them together

Import `runtimes.kubernetes.runtime` for the runtime; this package imports nothing by itself.
"""
