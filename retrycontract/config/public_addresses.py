"""Which addresses are of the public internet: to others nothing is sent, unless the service may."""

from __future__ import annotations

import socket
from ipaddress import IPv4Address, IPv4Network, IPv6Network, ip_address
from typing import Final

NOT_PUBLIC: Final = (
    "The address is not of the public internet, so nothing would be sent to it. Take a public one, or set "
    "RETRYCONTRACT_ALLOW_PRIVATE_WEBHOOKS inside your own network."
)
# Everything outside is something else: loopback, link-local, private, multicast, IPv4 in disguise, not yet assigned.
INTERNET_V6 = IPv6Network("2000::/3")
# `is_global` of Python 3.11 lets these through. Those of IPv6 carry an IPv4 address, or stand in documents only.
CLOSED_V4 = tuple(map(IPv4Network, ("100.64.0.0/10", "192.0.0.0/24", "192.88.99.0/24", "198.18.0.0/15", "224.0.0.0/3")))
INSIDE = (".localhost", ".local", ".internal", ".home.arpa")  # nobody on the internet has these
CLOSED_V6 = tuple(map(IPv6Network, ("2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20")))


def is_public(address: str) -> bool:
    """Tell whether an IP address is one of the public internet; anything that is no address is not."""
    try:
        # Without the zone that the system appends to a link-local address, as in fe80::1%eth0.
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
    # No name of the internet has one part alone, or signs of an escape or of a zone.
    if ("." not in name and ":" not in name and not name.isdigit()) or "%" in name or name.endswith(INSIDE):
        return True
    try:
        # The system reads 2130706433, 0x7f.1 and 127.1 as it will when it connects.
        found = socket.getaddrinfo(name, None, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
    except (OSError, UnicodeError):
        return name.rpartition(".")[2].isdigit()  # a number that is no address
    return not all(is_public(str(answer[4][0])) for answer in found)
