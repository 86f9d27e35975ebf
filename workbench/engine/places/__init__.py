"""Where resources of a stack live: the contract (`place.py`), and its two kinds, clusters and workspaces."""

from workbench.engine.places.cluster import ClusterPlace
from workbench.engine.places.place import Place
from workbench.engine.places.workspace import WorkspacePlace

__all__ = ["ClusterPlace", "Place", "WorkspacePlace"]
