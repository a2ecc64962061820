"""Quirks, for ``world.add(quirks=[…])`` and ``add_quirk``.

Written by declare.py from rpc.discover.
"""

from __future__ import annotations

from typing import Literal, Optional

from ._wire import Duration, described, duration


def flicker(
    *,
    maker: Optional[Literal["wire", "device"]] = None,
    cycles: Optional[int] = None,
    empty: Optional[Duration] = None,
    gap: Optional[Duration] = None,
    jitter: Optional[Duration] = None,
    auth: Optional[Literal["answer", "never"]] = None,
) -> str:
    """Return the quirk that connects with no protocols, disconnects, and reconnects with all its protocols; the
    default times are arbitrary.

    - ``maker``: what causes the flicker: the accessory, by detaching, or the device (default: wire)
    - ``cycles``: number of connects with no protocols before the connect with all protocols (default: 1)
    - ``empty``: how long the accessory stays connected with no protocols (default: 250ms)
    - ``gap``: how long the accessory then stays disconnected (default: 300ms)
    - ``jitter``: maximum random variation in each of these times (default: 0ms)
    - ``auth``: whether the accessory authenticates while it has no protocols (default: answer)
    """
    return described(
        "flicker",
        maker=maker,
        cycles=cycles,
        empty=duration(empty),
        gap=duration(gap),
        jitter=duration(jitter),
        auth=auth,
    )


def authentication(
    *,
    answer: Optional[Literal["refuse", "never", "wrong", "slow", "ignore-first", "hangup"]] = None,
    delay: Optional[Duration] = None,
) -> str:
    """Return the quirk that fails to authenticate, or authenticates slowly.

    - ``answer``: refuse: the device refuses a valid signature; never, wrong, slow: the accessory does not answer,
    sends a wrong signature, or answers late; ignore-first, hangup: if asked before identification, the accessory
    does not answer, or closes the connection (default: refuse)
    - ``delay``: by how much the accessory delays its certificate and then its signature (default: 5s)
    """
    return described("authentication", answer=answer, delay=duration(delay))


def identification(
    *,
    answer: Optional[Literal["slow", "never"]] = None,
    delay: Optional[Duration] = None,
) -> str:
    """Return the quirk that identifies itself late, or not at all.

    - ``answer``: whether the accessory identifies itself late, or not at all (default: slow)
    - ``delay``: by how much the accessory delays a slow answer (default: 12s)
    """
    return described("identification", answer=answer, delay=duration(delay))


def session(
    *,
    answer: Optional[Literal["refuse", "ignore", "silent", "close", "detach"]] = None,
    delay: Optional[Duration] = None,
    times: Optional[int] = None,
) -> str:
    """Return the quirk that refuses, ignores or breaks sessions.

    - ``answer``: refuse: the accessory refuses the session with a status; ignore: it ignores the request to open
    one; silent: it reads but never sends; close: it closes the session later; detach: it unplugs itself later
    (default: refuse)
    - ``delay``: time from the start of a session until the accessory closes it or detaches (default: 1s)
    - ``times``: number of sessions affected; later sessions work normally; 0 means all sessions (default: 0)
    """
    return described("session", answer=answer, delay=duration(delay), times=times)


def no_status() -> str:
    """Return the quirk that never sends a session's status (0xEA03)."""
    return described("no-status")


def stale_bytes(
    *,
    count: Optional[int] = None,
) -> str:
    """Return the quirk that sends bytes left over from the previous session at the start of each session except the
    first.

    - ``count``: maximum number of bytes (default: 64)
    """
    return described("stale-bytes", count=count)


def ends_sessions(
    *,
    min: Optional[Duration] = None,
    max: Optional[Duration] = None,
    episode: Optional[Duration] = None,
    calm: Optional[Duration] = None,
    seed: Optional[int] = None,
) -> str:
    """Return the quirk that ends each session after a random time, but only during some periods (episodes); the
    first one begins with the first session.

    - ``min``: duration of the shortest session (default: 3s)
    - ``max``: duration of the longest session (default: 17s)
    - ``episode``: duration of an episode; 0ms means forever (default: 2m)
    - ``calm``: time between episodes, in which sessions work normally; 0ms means that there is only one episode
    (default: 0ms)
    - ``seed``: random seed for these times; 0 means the run's seed (default: 0)
    """
    return described(
        "ends-sessions", min=duration(min), max=duration(max), episode=duration(episode), calm=duration(calm), seed=seed
    )


def wedges_after(
    *,
    opens: Optional[int] = None,
    within: Optional[Duration] = None,
    rest: Optional[Duration] = None,
) -> str:
    """Return the quirk that stops answering in all sessions, open and new, once too many have been opened in a
    short time; a power cycle resets the accessory.

    - ``opens``: how many sessions must be opened within the window to wedge the accessory; from then on, no session
    gets an answer (default: 8)
    - ``within``: the length of the window in which opened sessions are counted (default: 30s)
    - ``rest``: how long the accessory must stay unplugged to count as power-cycled, which resets the quirk
    (default: 10s)
    """
    return described("wedges-after", opens=opens, within=duration(within), rest=duration(rest))


def goes_silent(
    *,
    after: Optional[Duration] = None,
    restart: Optional[Duration] = None,
    later: Optional[Duration] = None,
    jitter: Optional[Duration] = None,
    rest: Optional[Duration] = None,
    seed: Optional[int] = None,
) -> str:
    """Return the quirk that stops sending after a while but leaves the session open; a new session works, but also
    only for a while.

    - ``after``: how long the first session works (default: 30s)
    - ``restart``: how long the second session works (default: 3m)
    - ``later``: how long each later session works (default: 10s)
    - ``jitter``: maximum random variation in each of these times (default: 0ms)
    - ``rest``: how long the accessory must stay unplugged to count as power-cycled, which resets the quirk
    (default: 30s)
    - ``seed``: random seed for these times; 0 means the run's seed (default: 0)
    """
    return described(
        "goes-silent",
        after=duration(after),
        restart=duration(restart),
        later=duration(later),
        jitter=duration(jitter),
        rest=duration(rest),
        seed=seed,
    )


def busy_after_cancel(
    *,
    touch: Optional[Duration] = None,
    busy: Optional[Duration] = None,
    reply: Optional[Literal["late", "none"]] = None,
) -> str:
    """Return the quirk that waits for the user's touch before it replies; if the session ends first, ignores
    requests for a while and then sends the old reply.

    - ``touch``: time from a request until the user's touch (default: 10s)
    - ``busy``: how long after the cancelled request the accessory ignores requests (default: 30s)
    - ``reply``: late: the accessory then sends the reply to the cancelled request, in the current or next session;
    none: it never sends the reply (default: late)
    """
    return described("busy-after-cancel", touch=duration(touch), busy=duration(busy), reply=reply)


def phantom_session(
    *,
    within: Optional[Duration] = None,
    ends: Optional[Duration] = None,
    rest: Optional[Duration] = None,
    seed: Optional[int] = None,
) -> str:
    """Return the quirk that does not notice that a session was cut off mid-transfer, and ends every new session
    until it is power-cycled.

    - ``within``: a session counts as cut off mid-transfer if its last byte arrived less than this time before the
    session ended (default: 1s)
    - ``ends``: maximum time until the accessory ends a new session; the actual time is random (default: 1s)
    - ``rest``: how long the accessory must stay unplugged to count as power-cycled, which resets the quirk
    (default: 30s)
    - ``seed``: random seed for these times; 0 means the run's seed (default: 0)
    """
    return described("phantom-session", within=duration(within), ends=duration(ends), rest=duration(rest), seed=seed)


def drops_beyond(
    *,
    bytes: Optional[int] = None,
    rate: Optional[int] = None,
) -> str:
    """Return the quirk that reads slowly into a small buffer, and silently drops bytes that do not fit.

    - ``bytes``: the size of the buffer (default: 512)
    - ``rate``: the rate at which the accessory reads, in bytes per second (default: 2000)
    """
    return described("drops-beyond", bytes=bytes, rate=rate)


def reply_chunking(
    *,
    pieces: Optional[Literal["bytes", "glued", "split"]] = None,
    gap: Optional[Duration] = None,
    size: Optional[int] = None,
    seed: Optional[int] = None,
) -> str:
    """Return the quirk that sends replies byte by byte, several at once, or split at random.

    - ``pieces``: bytes: one byte at a time; glued: everything produced within `gap` at once; split: pieces of
    random length (default: bytes)
    - ``gap``: pause between pieces; for `glued`, how long to collect bytes (default: 5ms)
    - ``size``: for `split`: maximum size of a piece, in bytes (default: 16)
    - ``seed``: random seed for the pieces; 0 means the run's seed (default: 0)
    """
    return described("reply-chunking", pieces=pieces, gap=duration(gap), size=size, seed=seed)


def obeys_first_settings_only(
    *,
    prefix: Optional[str] = None,
    end: Optional[Literal["pause", "lf", "cr"]] = None,
    pause: Optional[Duration] = None,
) -> str:
    """Return the quirk that obeys the first settings command of each session and ignores the others.

    - ``prefix``: prefix of settings commands; if empty, every command is a settings command
    - ``end``: the end of a command: a pause, a line feed or a carriage return (default: pause)
    - ``pause``: minimum length of a pause that ends a command (default: 200ms)
    """
    return described("obeys-first-settings-only", prefix=prefix, end=end, pause=duration(pause))


def fails_after_first_transaction(
    *,
    transactions: Optional[int] = None,
    answer: Optional[Literal["silence", "close"]] = None,
    pause: Optional[Duration] = None,
) -> str:
    """Return the quirk that serves the first transaction and fails all later ones until it is unplugged and plugged
    in again.

    - ``transactions``: number of transactions that succeed (default: 1)
    - ``answer``: how later transactions fail: silence (no reply) or close (the session ends) (default: silence)
    - ``pause``: a request begins a new transaction if it follows a pause of at least this length, or arrives in a
    different session (default: 500ms)
    """
    return described("fails-after-first-transaction", transactions=transactions, answer=answer, pause=duration(pause))
