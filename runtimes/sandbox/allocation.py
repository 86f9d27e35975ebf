"""Values that only the server can choose: addresses and node ports of Services, generated names, uids."""

from __future__ import annotations

import base64
import ipaddress
import random
import uuid
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from runtimes.sandbox.store import Object, Store

SERVICE_NETWORK = ipaddress.IPv4Network("10.0.0.0/24")
NODE_PORTS = range(30000, 32768)
# no vowels and nothing that looks alike: generated words stay free of words
_SUFFIX_LETTERS = "bcdfghjklmnpqrstvwxz2456789"
_LONGEST_GENERATED_BASE = 58
SERVICES = ("", "services")


class Rng:
    """All randomness of a cluster; with a seed its names, uids and ports repeat."""

    def __init__(self, seed: int | None = None) -> None:
        self._random = random.Random(seed)

    def uid(self) -> str:
        return str(uuid.UUID(int=self._random.getrandbits(128), version=4))

    def suffix(self) -> str:
        return "".join(self._random.choices(_SUFFIX_LETTERS, k=5))

    def name(self, base: str) -> str:
        return base[:_LONGEST_GENERATED_BASE] + self.suffix()

    def token(self) -> str:
        """256 bits, in letters that a URL may have."""
        return base64.urlsafe_b64encode(self._random.randbytes(32)).decode().rstrip("=")

    def choice(self, values: range) -> int:
        return self._random.choice(values)


def services(store: Store) -> Iterator[Object]:
    return (service for _, service in store.items(SERVICES))


def used_addresses(store: Store) -> set[str]:
    return {address for service in services(store) for address in service["spec"].get("clusterIPs") or ()}


def used_node_ports(store: Store) -> set[int]:
    used: set[int] = set()
    for service in services(store):
        spec = service["spec"]
        used |= {port["nodePort"] for port in spec.get("ports") or () if port.get("nodePort")}
        used |= {spec["healthCheckNodePort"]} if spec.get("healthCheckNodePort") else set()
    return used


def free_address(store: Store, rng: Rng) -> str | None:
    """Any free address of the network; the first one is the API server's own. None when all are taken.

    At random, so that an address that was just given up does not come back at once and hide a mistake.
    """
    used = used_addresses(store)
    free = [str(address) for address in list(SERVICE_NETWORK.hosts())[1:] if str(address) not in used]
    return free[rng.choice(range(len(free)))] if free else None


def free_node_port(store: Store, rng: Rng, taken: Iterable[int] = ()) -> int | None:
    used = used_node_ports(store) | set(taken)
    if len(used) >= len(NODE_PORTS):
        return None
    while True:
        port = rng.choice(NODE_PORTS)
        if port not in used:
            return port


def wants_node_ports(spec: Mapping[str, Any]) -> bool:
    if spec.get("type") == "LoadBalancer":
        return spec.get("allocateLoadBalancerNodePorts", True) is not False
    return spec.get("type") == "NodePort"
