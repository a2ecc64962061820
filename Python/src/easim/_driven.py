"""Code shared by the classes of the plain interface, each of which drives an object of :mod:`easim.aio`."""

from __future__ import annotations

import functools
from collections.abc import Coroutine
from types import TracebackType
from typing import TYPE_CHECKING, Any, Callable, Generic, Optional, Protocol, TypeVar

if TYPE_CHECKING:
    from typing_extensions import Concatenate, ParamSpec

    from ._plain import Server, World

    _P = ParamSpec("_P")

# Makes pytest show errors at the call in the test, not in this package.
__tracebackhide__ = True

_T = TypeVar("_T")
_S = TypeVar("_S", bound="Context")


class _Named(Protocol):
    id: str


_N = TypeVar("_N", bound=_Named)


class Driven(Generic[_N]):
    """An object that delegates to an object of :mod:`easim.aio` on the server's loop."""

    aio: _N

    def _owner(self) -> Server:
        raise NotImplementedError

    def _run(self, work: Coroutine[Any, Any, _T]) -> _T:
        return self._owner().run(work)

    def __repr__(self) -> str:
        """Describe the object for debugging."""
        return repr(self.aio)

    @property
    def id(self) -> str:
        """The object's ID in the control protocol."""
        return self.aio.id


class InWorld(Driven[_N]):
    """An object in a world, created by the world's methods."""

    def __init__(self, world: World, inner: _N) -> None:
        """Use the world's methods instead."""
        self.world = world
        self.aio = inner

    def _owner(self) -> Server:
        return self.world.server


class Context:
    """An object that a ``with`` statement closes."""

    def close(self) -> None:
        """Close the object."""
        raise NotImplementedError

    def __enter__(self: _S) -> _S:
        """Return the object."""
        return self

    def __exit__(
        self,
        kind: Optional[type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        """Close the object."""
        self.close()


def driven(
    method: Callable[Concatenate[_N, _P], Coroutine[Any, Any, _T]],
) -> Callable[Concatenate[Driven[_N], _P], _T]:
    """Make the plain form of a coroutine method, with the same parameters and documentation."""

    @functools.wraps(method)
    def call(self: Driven[_N], /, *args: _P.args, **kwargs: _P.kwargs) -> _T:
        return self._run(method(self.aio, *args, **kwargs))

    return call
