"""Rules of CEL (`x-kubernetes-validations`) as conditions of KCL.

syntax      the text of a rule to a tree
truths      conditions for "it is true" and "it is false", which errors are neither of
translation the tree to conditions on a place
rules       the checks of one shape, with their messages
"""
