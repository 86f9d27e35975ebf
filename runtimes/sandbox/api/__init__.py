"""The HTTP face of a simulated cluster.

`requests` reads a request: what it addresses and wants. `access` says who asks and whether they may. `handlers` answer
with the verbs of the cluster; `discovery`, `tables`, `pods` and `reviews` are the parts of the API that are not objects
in a store. `replies` writes answers in the representation asked for.
"""
