"""What runs amount to, and how it is kept from one process to the next while all that it rests on is the same."""

from kcl.evaluator.cached_provenance import CachedProvenance
from kcl.results.places import portable
from kcl.results.request import RunRequest
from kcl.results.result import Provenance, RunResult
from kcl.results.result_cache import Failure, ResultCache
from kcl.results.texts import SourceChanged

__all__ = [
    "CachedProvenance",
    "Failure",
    "Provenance",
    "ResultCache",
    "RunRequest",
    "RunResult",
    "SourceChanged",
    "portable",
]
