"""Which addresses a webhook may lead to."""

from __future__ import annotations

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrycontract.config.public_addresses import is_public
from retrycontract.usecases.notify.tend_endpoint import resolve

CLOSED = {
    "unspecified": "0.0.0.0",
    "this network": "0.1.2.3",
    "loopback": "127.0.0.1",
    "loopback, another": "127.8.9.10",
    "private, class A": "10.0.0.1",
    "private, class B": "172.16.0.1",
    "private, class B, last": "172.31.255.255",
    "private, class C": "192.168.1.1",
    "link-local": "169.254.0.1",
    "metadata of AWS, GCP and Azure": "169.254.169.254",
    "metadata of AWS tasks": "169.254.170.2",
    "metadata of Alibaba, in CGNAT": "100.100.100.200",
    "CGNAT": "100.64.0.1",
    "CGNAT, last": "100.127.255.255",
    "protocol assignments": "192.0.0.1",
    "metadata of Oracle": "192.0.0.192",
    "documentation 1": "192.0.2.1",
    "documentation 2": "198.51.100.1",
    "documentation 3": "203.0.113.1",
    "relay of 6to4": "192.88.99.1",
    "benchmarks": "198.19.255.1",
    "multicast": "224.0.0.1",
    "multicast, scoped": "239.255.255.250",
    "reserved": "240.0.0.1",
    "broadcast": "255.255.255.255",
    "unspecified, IPv6": "::",
    "loopback, IPv6": "::1",
    "IPv4-compatible": "::127.0.0.1",
    "IPv4-mapped loopback": "::ffff:127.0.0.1",
    "IPv4-mapped, written in hex": "::ffff:7f00:1",
    "IPv4-mapped private": "::ffff:10.0.0.1",
    "IPv4-mapped metadata": "::ffff:169.254.169.254",
    "IPv4-mapped public": "::ffff:8.8.8.8",
    "IPv4-translated": "::ffff:0:127.0.0.1",
    "NAT64 of the metadata": "64:ff9b::a9fe:a9fe",
    "NAT64 of loopback": "64:ff9b::7f00:1",
    "NAT64, local": "64:ff9b:1::1",
    "discard only": "100::1",
    "Teredo": "2001:0:4136:e378:8000:63bf:3fff:fdd2",
    "ORCHID": "2001:10::1",
    "documentation, IPv6": "2001:db8::1",
    "documentation, IPv6, the larger": "3fff::1",
    "6to4 of loopback": "2002:7f00:1::1",
    "6to4 of the metadata": "2002:a9fe:a9fe::1",
    "unique local": "fc00::1",
    "unique local, assigned": "fd00:ec2::254",
    "link-local, IPv6": "fe80::1",
    "link-local with a zone": "fe80::1%eth0",
    "site-local, deprecated": "fec0::1",
    "multicast, IPv6": "ff02::1",
    "segment routing": "5f00::1",
    "not assigned": "4000::1",
}
NO_ADDRESS = [
    "", "localhost", "127.1", "2130706433", "0x7f.1", "0177.0.0.1", "1.2.3.4.5", "[::1]", "8.8.8.8/32", "八.八",
]  # fmt: skip
PUBLIC = ["1.1.1.1", "8.8.8.8", "93.184.216.34", "172.15.0.1", "172.32.0.1", "100.63.0.1", "100.128.0.1", "192.0.1.1",
          "2606:4700:4700::1111", "2a00:1450:4001::1", "2001:4860:4860::8888"]  # fmt: skip


@pytest.mark.parametrize("address", CLOSED.values(), ids=CLOSED)
def test_what_is_not_of_the_internet_is_closed(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize("text", NO_ADDRESS)
def test_what_is_no_address_is_closed(text: str) -> None:
    assert not is_public(text)


@pytest.mark.parametrize("address", PUBLIC)
def test_addresses_of_the_internet_are_open(address: str) -> None:
    assert is_public(address)


@given(st.one_of(st.ip_addresses(v=4), st.ip_addresses(v=6)))
def test_no_address_is_open_that_python_calls_private(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> None:
    closed = address.is_private or address.is_multicast or address.is_loopback or address.is_reserved
    assert not (closed and is_public(str(address)))


@given(st.ip_addresses(v=4))
def test_no_ipv4_address_is_open_in_disguise(address: ipaddress.IPv4Address) -> None:
    number = int(address)
    for disguise in (0xFFFF << 32 | number, 0x64FF9B << 96 | number, 0x2002 << 112 | number << 80, number):
        assert not is_public(str(ipaddress.IPv6Address(disguise)))


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "2130706433", "0x7f000001", "0x7f.1", "0177.0.0.1", "127.1", "017700000001", "localhost"]
)
def test_every_way_to_write_loopback_resolves_to_a_closed_address(host: str) -> None:
    assert [address for address in resolve(host, 80) if is_public(address)] == []
