"""Whose an address is, where what comes from one address is counted."""

from __future__ import annotations

from ipaddress import IPv6Address, ip_address, ip_network


def counted_as(address: str) -> str:
    """Name what an address counts as: of IPv6 its /64, which one customer has whole, or the IPv4 address in it."""
    try:
        found = ip_address(address)
    except ValueError:  # of a socket file, which has none
        return address
    # Those of a link are its machines', which share one /64.
    if not isinstance(found, IPv6Address) or found.is_link_local:
        return address
    return str(found.ipv4_mapped or ip_network((int(found), 64), strict=False))
