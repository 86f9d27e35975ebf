"""The face for programs: the session's verbs and the official KCL service, as JSON-RPC 2.0.

    methods.py   every `wb.` method: its parameters, what it answers
    verbs.py     what they do, over the session
    plans.py     the plans that were made here and may be applied
    official.py  the methods of the official service, each call in a process that can be ended
    masking.py   their answers without secrets
    tokens.py    what a client over loopback has to have
    calls.py     one request to its answer: what is understood, bounded, cancelled, and what a failure is called
    http.py      over loopback: who may ask, and how answers and streams are sent
    stdio.py     over standard input and output

Every answer is the document that `-o json` prints. Nothing is written unless whoever started the server allowed it.
"""
