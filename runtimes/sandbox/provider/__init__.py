"""A Terraform provider to practise with: `workbench.local/sandbox/sandbox`.

Its cloud is one JSON file, the world. Networks, databases, buckets and DNS records are created, changed and destroyed
in it through the real plugin protocol, so terraform can't tell it from a real one: it has latency, quotas, faults,
generated ids, and people who change things behind terraform's back.

    cloud      the file: objects, faults, quotas, a log; locked, replaced in one go
    faults     latency, errors and crashes that the file asks for
    kinds      what the four types of resources are, without any terraform in it
    plugin     the kinds as resources of the PyPI package `tf`
    serving    the plugin protocol: handshake, TLS, shutdown
    mirror     lays the provider into a folder that terraform takes providers from

Installing knows the failures of all runtimes, which the provider's own process has no time to import: `mirror` is not
among what this package offers. Only `plugin` and `serving` need `tf` and `grpc`; they run in the process that terraform
starts and nowhere else.
"""

from __future__ import annotations

from typing import Final

from runtimes.sandbox.provider.cloud import CLOUD_VARIABLE, Cloud, CloudBroken

SOURCE: Final = "workbench.local/sandbox/sandbox"
VERSION: Final = "0.1.0"

__all__ = ["CLOUD_VARIABLE", "SOURCE", "VERSION", "Cloud", "CloudBroken"]
