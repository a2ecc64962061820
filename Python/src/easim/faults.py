"""Faults, for ``world.add(faults=[…])`` and ``add_fault``.

Written by declare.py from rpc.discover.
"""

from __future__ import annotations

from typing import Literal, Optional

from ._wire import Chance, Duration, described, duration


def latency(
    *,
    delay: Duration,
    jitter: Optional[Duration] = None,
    capacity: Optional[int] = None,
    direction: Optional[Literal["both", "in", "out"]] = None,
    after: Optional[Duration] = None,
    for_: Optional[Duration] = None,
) -> str:
    """Return the fault that delays bytes without reordering them.

    - ``delay``: delay of each byte
    - ``jitter``: maximum additional random delay (default: 0ms)
    - ``capacity``: how many bytes can be queued before the sender must wait (default: 65536)
    - ``direction``: in: bytes that this end receives; out: bytes that this end sends (default: both)
    - ``after``: time from the start of the connection until the fault begins (default: 0ms)
    - ``for_``: how long the fault lasts; 0ms means forever (default: 0ms)
    """
    return described(
        "latency",
        delay=duration(delay),
        jitter=duration(jitter),
        capacity=capacity,
        direction=direction,
        after=duration(after),
        for_=duration(for_),
    )


def rate(
    *,
    bytes: Optional[int] = None,
    capacity: Optional[int] = None,
    direction: Optional[Literal["both", "in", "out"]] = None,
    after: Optional[Duration] = None,
    for_: Optional[Duration] = None,
) -> str:
    """Return the fault that limits the throughput.

    - ``bytes``: bytes per second (default: 7500)
    - ``capacity``: how many bytes can be queued before the sender must wait (default: 4096)
    - ``direction``: in: bytes that this end receives; out: bytes that this end sends (default: both)
    - ``after``: time from the start of the connection until the fault begins (default: 0ms)
    - ``for_``: how long the fault lasts; 0ms means forever (default: 0ms)
    """
    return described(
        "rate", bytes=bytes, capacity=capacity, direction=direction, after=duration(after), for_=duration(for_)
    )


def split(
    *,
    size: Optional[int] = None,
    gap: Optional[Duration] = None,
    capacity: Optional[int] = None,
    direction: Optional[Literal["both", "in", "out"]] = None,
    after: Optional[Duration] = None,
    for_: Optional[Duration] = None,
) -> str:
    """Return the fault that cuts chunks into pieces of random size.

    - ``size``: maximum size of a piece, in bytes (default: 7)
    - ``gap``: time between pieces (default: 0ms)
    - ``capacity``: how many bytes can be queued before the sender must wait (default: 65536)
    - ``direction``: in: bytes that this end receives; out: bytes that this end sends (default: both)
    - ``after``: time from the start of the connection until the fault begins (default: 0ms)
    - ``for_``: how long the fault lasts; 0ms means forever (default: 0ms)
    """
    return described(
        "split",
        size=size,
        gap=duration(gap),
        capacity=capacity,
        direction=direction,
        after=duration(after),
        for_=duration(for_),
    )


def glue(
    *,
    size: Optional[int] = None,
    wait: Optional[Duration] = None,
    direction: Optional[Literal["both", "in", "out"]] = None,
    after: Optional[Duration] = None,
    for_: Optional[Duration] = None,
) -> str:
    """Return the fault that merges chunks into larger ones.

    - ``size``: number of bytes to collect before passing them on (default: 4096)
    - ``wait``: how long to wait for enough bytes before passing on what has arrived (default: 20ms)
    - ``direction``: in: bytes that this end receives; out: bytes that this end sends (default: both)
    - ``after``: time from the start of the connection until the fault begins (default: 0ms)
    - ``for_``: how long the fault lasts; 0ms means forever (default: 0ms)
    """
    return described(
        "glue", size=size, wait=duration(wait), direction=direction, after=duration(after), for_=duration(for_)
    )


def stall(
    *,
    capacity: Optional[int] = None,
    direction: Optional[Literal["both", "in", "out"]] = None,
    after: Optional[Duration] = None,
    for_: Optional[Duration] = None,
) -> str:
    """Return the fault that holds back everything while the fault lasts, and passes it on afterwards.

    - ``capacity``: how many bytes can be queued before the sender must wait (default: 65536)
    - ``direction``: in: bytes that this end receives; out: bytes that this end sends (default: both)
    - ``after``: time from the start of the connection until the fault begins (default: 0ms)
    - ``for_``: how long the fault lasts; 0ms means forever (default: 0ms)
    """
    return described("stall", capacity=capacity, direction=direction, after=duration(after), for_=duration(for_))


def half_dead(
    *,
    direction: Optional[Literal["out", "in"]] = None,
    after: Optional[Duration] = None,
    for_: Optional[Duration] = None,
) -> str:
    """Return the fault that loses everything sent in one direction.

    - ``direction``: in: bytes that this end receives; out: bytes that this end sends (default: out)
    - ``after``: time from the start of the connection until the fault begins (default: 0ms)
    - ``for_``: how long the fault lasts; 0ms means forever (default: 0ms)
    """
    return described("half-dead", direction=direction, after=duration(after), for_=duration(for_))


def cut(
    *,
    bytes: Optional[int] = None,
    packets: Optional[int] = None,
    direction: Optional[Literal["both", "in", "out"]] = None,
    after: Optional[Duration] = None,
    for_: Optional[Duration] = None,
) -> str:
    """Return the fault that ends the connection after a given time, number of bytes or number of packets.

    - ``bytes``: cut the connection after N bytes in one direction; 0 means no limit (default: 0)
    - ``packets``: cut the connection after N packets in one direction; 0 means no limit (default: 0)
    - ``direction``: in: bytes that this end receives; out: bytes that this end sends (default: both)
    - ``after``: time from the start of the connection until the fault begins (default: 0ms)
    - ``for_``: how long the fault lasts; 0ms means forever (default: 0ms)
    """
    return described(
        "cut", bytes=bytes, packets=packets, direction=direction, after=duration(after), for_=duration(for_)
    )


def slow_reader(
    *,
    bytes: Optional[int] = None,
    every: Optional[Duration] = None,
    direction: Optional[Literal["in", "out", "both"]] = None,
    after: Optional[Duration] = None,
    for_: Optional[Duration] = None,
) -> str:
    """Return the fault that reads a few bytes at a time, with pauses.

    - ``bytes``: bytes per read (default: 512)
    - ``every``: pause between reads (default: 20ms)
    - ``direction``: in: bytes that this end receives; out: bytes that this end sends (default: in)
    - ``after``: time from the start of the connection until the fault begins (default: 0ms)
    - ``for_``: how long the fault lasts; 0ms means forever (default: 0ms)
    """
    return described(
        "slow-reader",
        bytes=bytes,
        every=duration(every),
        direction=direction,
        after=duration(after),
        for_=duration(for_),
    )


def collapse(
    *,
    above: Optional[int] = None,
    rate: Optional[int] = None,
    capacity: Optional[int] = None,
    direction: Optional[Literal["out", "in", "both"]] = None,
    after: Optional[Duration] = None,
    for_: Optional[Duration] = None,
) -> str:
    """Return the fault that slows down writes larger than a limit.

    - ``above``: writes larger than this many bytes are slow (default: 2048)
    - ``rate``: how fast larger writes are sent, in bytes per second (default: 2000)
    - ``capacity``: how many bytes can be queued before the sender must wait (default: 65536)
    - ``direction``: in: bytes that this end receives; out: bytes that this end sends (default: out)
    - ``after``: time from the start of the connection until the fault begins (default: 0ms)
    - ``for_``: how long the fault lasts; 0ms means forever (default: 0ms)
    """
    return described(
        "collapse",
        above=above,
        rate=rate,
        capacity=capacity,
        direction=direction,
        after=duration(after),
        for_=duration(for_),
    )


def stale(
    *,
    kind: Optional[Literal["tail", "packets", "noise"]] = None,
    bytes: Optional[int] = None,
    direction: Optional[Literal["in", "out", "both"]] = None,
    after: Optional[Duration] = None,
    for_: Optional[Duration] = None,
) -> str:
    """Return the fault that delivers bytes from an earlier session first.

    - ``kind``: tail: the end of a packet; packets: whole packets of an earlier link; noise: random bytes (default:
    tail)
    - ``bytes``: number of bytes; with `packets`, rounded up to whole packets (default: 64)
    - ``direction``: in: bytes that this end receives; out: bytes that this end sends (default: in)
    - ``after``: time from the start of the connection until the fault begins (default: 0ms)
    - ``for_``: how long the fault lasts; 0ms means forever (default: 0ms)
    """
    return described("stale", kind=kind, bytes=bytes, direction=direction, after=duration(after), for_=duration(for_))


def loss(
    *,
    chance: Optional[Chance] = None,
    kind: Optional[Literal["any", "data", "ack", "syn"]] = None,
    burst: Optional[int] = None,
    direction: Optional[Literal["both", "in", "out"]] = None,
    after: Optional[Duration] = None,
    for_: Optional[Duration] = None,
) -> str:
    """Return the fault that loses packets.

    - ``chance``: fraction of packets affected (default: 1%)
    - ``kind``: which packets can be affected (default: any)
    - ``burst``: number of consecutive packets affected (default: 1)
    - ``direction``: in: bytes that this end receives; out: bytes that this end sends (default: both)
    - ``after``: time from the start of the connection until the fault begins (default: 0ms)
    - ``for_``: how long the fault lasts; 0ms means forever (default: 0ms)
    """
    return described(
        "loss", chance=chance, kind=kind, burst=burst, direction=direction, after=duration(after), for_=duration(for_)
    )


def duplicate(
    *,
    chance: Optional[Chance] = None,
    kind: Optional[Literal["any", "data", "ack", "syn"]] = None,
    burst: Optional[int] = None,
    copies: Optional[int] = None,
    direction: Optional[Literal["both", "in", "out"]] = None,
    after: Optional[Duration] = None,
    for_: Optional[Duration] = None,
) -> str:
    """Return the fault that delivers packets more than once.

    - ``chance``: fraction of packets affected (default: 1%)
    - ``kind``: which packets can be affected (default: any)
    - ``burst``: number of consecutive packets affected (default: 1)
    - ``copies``: number of additional copies (default: 1)
    - ``direction``: in: bytes that this end receives; out: bytes that this end sends (default: both)
    - ``after``: time from the start of the connection until the fault begins (default: 0ms)
    - ``for_``: how long the fault lasts; 0ms means forever (default: 0ms)
    """
    return described(
        "duplicate",
        chance=chance,
        kind=kind,
        burst=burst,
        copies=copies,
        direction=direction,
        after=duration(after),
        for_=duration(for_),
    )


def reorder(
    *,
    chance: Optional[Chance] = None,
    kind: Optional[Literal["any", "data", "ack", "syn"]] = None,
    burst: Optional[int] = None,
    by: Optional[int] = None,
    wait: Optional[Duration] = None,
    direction: Optional[Literal["both", "in", "out"]] = None,
    after: Optional[Duration] = None,
    for_: Optional[Duration] = None,
) -> str:
    """Return the fault that delivers packets late, so that later packets overtake them.

    - ``chance``: fraction of packets affected (default: 1%)
    - ``kind``: which packets can be affected (default: any)
    - ``burst``: number of consecutive packets affected (default: 1)
    - ``by``: number of later packets that overtake the delayed packet (default: 1)
    - ``wait``: maximum delay, after which the packet is delivered even if fewer packets have overtaken it (default:
    50ms)
    - ``direction``: in: bytes that this end receives; out: bytes that this end sends (default: both)
    - ``after``: time from the start of the connection until the fault begins (default: 0ms)
    - ``for_``: how long the fault lasts; 0ms means forever (default: 0ms)
    """
    return described(
        "reorder",
        chance=chance,
        kind=kind,
        burst=burst,
        by=by,
        wait=duration(wait),
        direction=direction,
        after=duration(after),
        for_=duration(for_),
    )


def corrupt(
    *,
    chance: Optional[Chance] = None,
    kind: Optional[Literal["any", "data", "ack", "syn"]] = None,
    burst: Optional[int] = None,
    part: Optional[Literal["payload", "header", "either"]] = None,
    sum: Optional[Literal["wrong", "right"]] = None,
    direction: Optional[Literal["both", "in", "out"]] = None,
    after: Optional[Duration] = None,
    for_: Optional[Duration] = None,
) -> str:
    """Return the fault that flips one bit of a packet.

    - ``chance``: fraction of packets affected (default: 1%)
    - ``kind``: which packets can be affected (default: any)
    - ``burst``: number of consecutive packets affected (default: 1)
    - ``part``: the part of the packet in which a bit is flipped (default: payload)
    - ``sum``: whether the checksum is corrected or left wrong (default: wrong)
    - ``direction``: in: bytes that this end receives; out: bytes that this end sends (default: both)
    - ``after``: time from the start of the connection until the fault begins (default: 0ms)
    - ``for_``: how long the fault lasts; 0ms means forever (default: 0ms)
    """
    return described(
        "corrupt",
        chance=chance,
        kind=kind,
        burst=burst,
        part=part,
        sum=sum,
        direction=direction,
        after=duration(after),
        for_=duration(for_),
    )


def noise(
    *,
    chance: Optional[Chance] = None,
    kind: Optional[Literal["any", "data", "ack", "syn"]] = None,
    burst: Optional[int] = None,
    bytes: Optional[int] = None,
    direction: Optional[Literal["both", "in", "out"]] = None,
    after: Optional[Duration] = None,
    for_: Optional[Duration] = None,
) -> str:
    """Return the fault that inserts random bytes before packets.

    - ``chance``: fraction of packets affected (default: 1%)
    - ``kind``: which packets can be affected (default: any)
    - ``burst``: number of consecutive packets affected (default: 1)
    - ``bytes``: number of bytes inserted before each packet (default: 8)
    - ``direction``: in: bytes that this end receives; out: bytes that this end sends (default: both)
    - ``after``: time from the start of the connection until the fault begins (default: 0ms)
    - ``for_``: how long the fault lasts; 0ms means forever (default: 0ms)
    """
    return described(
        "noise",
        chance=chance,
        kind=kind,
        burst=burst,
        bytes=bytes,
        direction=direction,
        after=duration(after),
        for_=duration(for_),
    )
