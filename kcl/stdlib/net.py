"""`import net`: addresses and networks. Nothing here sends a packet."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from ipaddress import (
    IPv4Address,
    IPv4Network,
    IPv6Address,
    IPv6Network,
    ip_address,
    ip_network,
)
from typing import Final

from kcl.evaluator.value import KDict, KList, ValueFailure
from kcl.stdlib.declaration import Module

MODULE: Final = Module("net")
_Address = IPv4Address | IPv6Address
_Network = IPv4Network | IPv6Network
_BROADCAST: Final = IPv4Address("255.255.255.255")
_SHARED: Final = IPv4Network("100.64.0.0/10")
_DOCUMENTATION: Final = IPv6Network("2001:db8::/32")


def _address(text: str) -> _Address | None:
    """None for text that is no address; a zone (`fe80::1%eth0`) is none of it."""
    try:
        return None if "%" in text else ip_address(text)
    except ValueError:
        return None


def _network(function: str, cidr: str) -> _Network:
    """Raises ValueFailure for text that is no network, and for an address that is not its network's first."""
    text, slash, length = cidr.partition("/")
    address = _address(text)
    if address is None:
        reason = "couldn't parse address in network: invalid IP address syntax"
    elif slash and not length.isdecimal():
        reason = "couldn't parse length in network: invalid digit found in string"
    elif slash and int(length) > address.max_prefixlen:
        reason = (
            f"invalid length for network: Network length {length} is too long for Ipv{address.version} "
            f"(maximum: {address.max_prefixlen})"
        )
    else:
        try:
            return ip_network(cidr)
        except ValueError:
            reason = "host part of address was not zero"
    raise ValueFailure(f"{function}() invalid cidr: {reason}")


def _shown(address: _Address) -> str:
    """As official programs print it: an IPv4 address inside of an IPv6 one in its own notation."""
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        return f"::ffff:{address.ipv4_mapped}"
    return str(address)


# ---------------------------------------------------------------- addresses


@MODULE.function("parse_IP(ip: str) -> str")
def parse_ip(ip: str) -> str:
    """The usual spelling of an address, "" for text that is none."""
    address = _address(ip)
    return "" if address is None else _shown(address)


@MODULE.function("IP_string(ip: str) -> str")
def ip_string(ip: str) -> str:
    return parse_ip(ip)


@MODULE.function("to_IP4(ip: str) -> str")
def to_ip4(ip: str) -> str:
    match _address(ip):
        case IPv4Address() as address:
            return str(address)
        case IPv6Address(ipv4_mapped=IPv4Address() as inner):
            return str(inner)
        case IPv6Address() as address if int(address) < 1 << 32:
            return str(IPv4Address(int(address)))
        case IPv6Address():
            return f"can not parse {ip} ipv6 to ipv4!"
        case _:
            return f"can not both parse {ip} to ipv6 and ipv4,err:invalid IPv6 address syntax"


@MODULE.function("to_IP6(ip: str) -> str")
def to_ip6(ip: str) -> str:
    match _address(ip):
        case IPv4Address() as address:
            return f"::ffff:{address}"
        case IPv6Address() as address:
            return str(address)
        case _:
            return f"can not both parse {ip} to ipv6 and ipv4,err:invalid IPv4 address syntax"


def _multicast_scope(address: _Address) -> int | None:
    """The scope digit of an IPv6 multicast address, None for any other."""
    return address.packed[1] & 0x0F if isinstance(address, IPv6Address) and address.is_multicast else None


def _is_link_local_multicast(address: _Address) -> bool:
    if isinstance(address, IPv4Address):
        return address.packed[:3] == b"\xe0\x00\x00"
    return _multicast_scope(address) == 2


def _is_global_unicast(address: _Address) -> bool:
    """An address of one host that the whole network can reach, documentation addresses left aside."""
    if address.is_multicast or address.is_loopback or address.is_unspecified or address.is_link_local:
        return False
    if isinstance(address, IPv4Address):
        return address != _BROADCAST and address not in _SHARED and not address.is_private
    return address not in _DOCUMENTATION and not address.is_site_local and (address.packed[0] & 0xFE) != 0xFC


_TESTS: Final[dict[str, Callable[[_Address], bool]]] = {
    "is_IP": lambda address: True,
    "is_IPv4": lambda address: isinstance(address, IPv4Address),
    "is_IPv6": lambda address: isinstance(address, IPv6Address),
    "is_loopback_IP": lambda address: address.is_loopback,
    "is_multicast_IP": lambda address: address.is_multicast,
    "is_interface_local_multicast_IP": lambda address: _multicast_scope(address) == 1,
    "is_link_local_multicast_IP": _is_link_local_multicast,
    "is_link_local_unicast_IP": lambda address: address.is_link_local,
    "is_global_unicast_IP": _is_global_unicast,
    "is_unspecified_IP": lambda address: address.is_unspecified,
}


def _declare_test(name: str, test: Callable[[_Address], bool]) -> None:
    def answer(ip: str) -> bool:
        address = _address(ip)
        return address is not None and test(address)

    MODULE.function(f"{name}(ip: str) -> bool")(answer)


for _name, _test in _TESTS.items():
    _declare_test(_name, _test)


# ---------------------------------------------------------------- hosts and ports


@MODULE.function("split_host_port(ip_end_point: str) -> [str]")
def split_host_port(ip_end_point: str) -> KList:
    host, colon, port = ip_end_point.rpartition(":")
    if not colon:
        raise ValueFailure(f'ip_end_point "{ip_end_point}" missing port')
    if ":" in host and not (host.startswith("[") and host.endswith("]")):
        raise ValueFailure(f'ip_end_point "{ip_end_point}" too many colons')
    return KList([host.removeprefix("[").removesuffix("]"), port])


@MODULE.function("join_host_port(host: str, port: int | str) -> str")
def join_host_port(host: str, port: int | str) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


@MODULE.function("fqdn(name?: str) -> str")
def fqdn(name: str = "") -> str:
    """A run never asks the network: the name itself, or `localhost`."""
    return name or "localhost"


# ---------------------------------------------------------------- networks


@MODULE.function("parse_CIDR(cidr: str) -> {str:any}")
def parse_cidr(cidr: str) -> KDict:
    """The address and the length of the mask; {} for text that is no network, host bits included."""
    try:
        network = ip_network(cidr)
    except ValueError:
        return KDict()
    return KDict({"ip": str(network.network_address), "mask": network.prefixlen})


@MODULE.function("is_IP_in_CIDR(ip: str, cidr: str) -> bool")
def is_ip_in_cidr(ip: str, cidr: str) -> bool:
    address = _address(ip)
    if address is None:
        raise ValueFailure("is_IP_in_CIDR() invalid ip: invalid IP address syntax")
    return address in _network("is_IP_in_CIDR", cidr)


@MODULE.function("CIDR_host(cidr: str, host_num: int) -> str")
def cidr_host(cidr: str, host_num: int) -> str:
    """A negative number counts from the end."""
    network = _network("CIDR_host", cidr)
    if not -network.num_addresses <= host_num < network.num_addresses:
        raise ValueFailure(f"CIDR_host() prefix of {network.prefixlen} does not accommodate a host numbered {host_num}")
    return str(network[host_num])


@MODULE.function("CIDR_netmask(cidr: str) -> str")
def cidr_netmask(cidr: str) -> str:
    network = _network("CIDR_netmask", cidr)
    if isinstance(network, IPv6Network):
        raise ValueFailure("CIDR_netmask() IPv6 addresses cannot have a netmask")
    return str(network.netmask)


def _longer(function: str, network: _Network, additional_bits: int) -> int:
    """The length of a network's prefix with `additional_bits` more."""
    length = network.prefixlen + additional_bits
    if additional_bits < 0:
        raise ValueFailure(f"{function}() invalid additional_bits: cannot be negative")
    if length > network.max_prefixlen:
        raise ValueFailure(
            f"{function}() invalid additional_bits: would extend network length to {length} bits, "
            f"which is too long for IPv{network.version}"
        )
    return length


def _subnet(network: _Network, length: int, offset: int) -> str:
    start = type(network.network_address)(int(network.network_address) + offset)
    return f"{start}/{length}"


@MODULE.function("CIDR_subnet(cidr: str, additional_bits: int, net_num: int) -> str")
def cidr_subnet(cidr: str, additional_bits: int, net_num: int) -> str:
    network = _network("CIDR_subnet", cidr)
    length = _longer("CIDR_subnet", network, additional_bits)
    if net_num < 0:
        raise ValueFailure("CIDR_subnet() invalid net_num: cannot be negative")
    if net_num >= 1 << additional_bits:
        raise ValueFailure(
            f"CIDR_subnet() additional_bits of {additional_bits} does not accommodate a net_num of {net_num}"
        )
    return _subnet(network, length, net_num << (network.max_prefixlen - length))


@MODULE.function("CIDR_subnets(cidr: str, additional_bits: [int]) -> [str]")
def cidr_subnets(cidr: str, additional_bits: Sequence[int]) -> KList:
    """One network after the other, each as soon as its size allows."""
    network = _network("CIDR_subnets", cidr)
    result = KList()
    free = 0
    for bits in additional_bits:
        length = _longer("CIDR_subnets", network, bits)
        size = 1 << (network.max_prefixlen - length)
        start = -(-free // size) * size
        free = start + size
        if free > network.num_addresses:
            after = f" after {result[-1]}" if result else ""
            raise ValueFailure(
                f"CIDR_subnets() not enough remaining address space for a subnet with a prefix of {length} bits{after}"
            )
        result.append(_subnet(network, length, start))
    return result
