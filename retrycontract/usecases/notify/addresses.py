"""Tell the addresses of the internet from those of the house: a webhook must not reach what only we can reach."""

from __future__ import annotations

import socket
from collections.abc import Callable, Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Network, ip_address

Resolve = Callable[[str, int], Sequence[str]]

# Everything outside is something else: loopback, link-local, private, multicast, IPv4 in disguise, not yet assigned.
INTERNET_V6 = IPv6Network("2000::/3")
# `is_global` of Python 3.11 lets these through. Those of IPv6 carry an IPv4 address, or stand in documents only.
CLOSED_V4 = tuple(map(IPv4Network, ("100.64.0.0/10", "192.0.0.0/24", "192.88.99.0/24", "198.18.0.0/15", "224.0.0.0/3")))
INSIDE = (".localhost", ".local", ".internal", ".home.arpa")  # nobody on the internet has these
CLOSED_V6 = tuple(map(IPv6Network, ("2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20")))


def is_public(address: str) -> bool:
    """Tell whether an IP address is one of the public internet; anything that is no address is not."""
    try:
        found = ip_address(address.partition("%")[0])
    except ValueError:
        return False
    if isinstance(found, IPv4Address):
        return found.is_global and not any(found in network for network in CLOSED_V4)
    return found in INTERNET_V6 and found.is_global and not any(found in network for network in CLOSED_V6)


def leads_inside(host: str) -> bool:
    """Tell whether a host is plainly one of the house: its name says so, or it writes a closed address in any form.

    No name is looked up: who is asked for that may be slow, and answers differently when something is sent.
    """
    name = host.rstrip(".").casefold()
    if name == "localhost" or name.endswith(INSIDE):
        return True
    try:
        # The system reads 2130706433, 0x7f.1 and 127.1 as it will when it connects.
        found = socket.getaddrinfo(name, None, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
    except (OSError, UnicodeError):
        return False
    return not all(is_public(str(answer[4][0])) for answer in found)


def resolve(host: str, port: int) -> list[str]:
    """Ask the system for the addresses of a host, each once; raises OSError."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(answer[4][0]) for answer in found))
