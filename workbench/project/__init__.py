"""The repository as files: where its root is, which projects, stacks and components it has, where stacks go.

names        `project/stack`
roots        where a repository begins, and the checkout it came with
tree         what discovery finds, as values; owners says whom each stack belongs to
discovery    path → tree
components   what a stack configures, by a quick look at its text
clusters     clusters.yaml: which stack goes to which clusters
plugins      plugins.yaml: which Python functions KCL may call
readiness    readiness.yaml: when resources count as ready
dimensions   dimensions.yaml: from which baselines the configuration of a stack comes
baselines    whether a stack lists those of its coordinates
masking      masking.yaml: what else is secret
outputs      what a stack gives to others
policy       policy.yaml: what is not put up with
impact       files → stacks
bounds       how far a repository reaches: what may be read and written for it
errors       the root `WorkbenchError`
"""

from workbench.project.bounds import is_git, lies_below, named, refuse_foreign, refuse_outside, top
from workbench.project.clusters import (
    TERRAFORM_PLACE,
    Cluster,
    ClusterMapping,
    NamespaceBy,
    NamespaceRule,
    Placement,
)
from workbench.project.dimensions import Baseline, Dimension, Dimensions
from workbench.project.discovery import discover, discover_clusters
from workbench.project.errors import (
    BrokenFile,
    NotARepository,
    OutsideRepository,
    ProjectError,
    UnknownCluster,
    UnknownStack,
    WorkbenchError,
)
from workbench.project.impact import Impact, affected, meant, with_targets
from workbench.project.names import ProjectName, StackName, StackPath
from workbench.project.outputs import Output
from workbench.project.roots import checkout, find_root
from workbench.project.terraform import TerraformOptions, provider_lock
from workbench.project.tree import Component, Finding, KonfigTree, Project, Stack

__all__ = [
    "TERRAFORM_PLACE",
    "Baseline",
    "BrokenFile",
    "Cluster",
    "ClusterMapping",
    "Component",
    "Dimension",
    "Dimensions",
    "Finding",
    "Impact",
    "KonfigTree",
    "NamespaceBy",
    "NamespaceRule",
    "NotARepository",
    "Output",
    "OutsideRepository",
    "Placement",
    "Project",
    "ProjectError",
    "ProjectName",
    "Stack",
    "StackName",
    "StackPath",
    "TerraformOptions",
    "UnknownCluster",
    "UnknownStack",
    "WorkbenchError",
    "affected",
    "checkout",
    "discover",
    "discover_clusters",
    "find_root",
    "is_git",
    "lies_below",
    "meant",
    "named",
    "provider_lock",
    "refuse_foreign",
    "refuse_outside",
    "top",
    "with_targets",
]
