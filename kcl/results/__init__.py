"""What runs amount to, and how it is kept from one process to the next while all that it rests on is the same."""

from kcl.results.asked import Asked
from kcl.results.kept import Failure, KeptResults
from kcl.results.places import KeptProvenance, portable
from kcl.results.result import Provenance, RunResult
from kcl.results.texts import SourceChanged

__all__ = ["Asked", "Failure", "KeptProvenance", "KeptResults", "Provenance", "RunResult", "SourceChanged", "portable"]
