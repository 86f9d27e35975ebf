"""What can be said of a program without evaluating it."""

from kcl.semantic.declarations import check_declarations

__all__ = ["check_declarations"]
