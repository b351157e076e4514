# SPDX-License-Identifier: Apache-2.0
"""Annotations for programs traced with Kymo.

    import kymo

    @kymo.range("load")
    def load(path): ...

    with kymo.range("solve", rows=n) as r:
        ...
        r.add(iterations=k)
    kymo.mark("checkpoint", category="io")

Without libkymo in the process (the program was not started by `kymo run`, nor is it loaded by
anything else) everything here does nothing. Import it before or after: `load()` brings a libkymo in.

Threads: every function, from any thread; a range begins and ends on one thread, a ProcessRange
on any two. With asyncio use ProcessRange: tasks take turns on one thread and would not nest.
Errors: none is raised for what is annotated; bad input is counted and shown with the trace.
Values: int (64 bit), float, str, bytes; anything else becomes str().
"""
import ctypes as _ctypes
import functools as _functools

from . import _library

__all__ = ["ProcessRange", "add", "load", "mark", "name", "name_thread", "pause", "paused", "pop",
           "push", "range", "resume", "tracing", "DEVICE", "CONTEXT", "QUEUE", "PROCESS", "THREAD"]

PROCESS, THREAD, DEVICE, CONTEXT, QUEUE = 1, 2, 3, 4, 5
_PAUSE_THREAD, _RESUME_THREAD, _PAUSE_ALL, _RESUME_ALL = 1, 2, 3, 4

_kymo = _library.find()


def load(path="libkymo.so.1"):
    """Loads libkymo, for tools in this process. Raises OSError when there is none."""
    global _kymo
    if _kymo is None:
        _kymo = _library.bind(_ctypes.PyDLL(path))


def tracing():
    """True when libkymo is in the process."""
    return _kymo is not None


def _marker(name, domain, category, color, values):
    m = _library.Marker(size=_ctypes.sizeof(_library.Marker), color=color)
    string = _library.text(name)
    if string is not None:
        m.string = string
    else:
        m.name = _library.encode(name)
    if domain:
        m.domain = _library.text(domain)
    if category:
        m.category = _library.text(category)
    if values:
        m.payload = _library.payload(values)
        m.payload_count = len(values)
    return m


def mark(name, *, domain=None, category=None, color=0, **values):
    """Something happened at this moment. `color` is 0xAARRGGBB."""
    if _kymo is not None:
        _kymo.kymo_mark_full(_marker(name, domain, category, color, values))


def push(name, *, domain=None, category=None, color=0, **values):
    """Opens a range of this thread; returns its depth, negative when nobody listens."""
    if _kymo is None:
        return -1
    if not (domain or category or color or values):
        string = _library.text(name)
        if string is not None:
            return _kymo.kymo_range_push_string(string)
    return _kymo.kymo_range_push_full(_marker(name, domain, category, color, values))


def pop(domain=None):
    """Closes the innermost range of this thread, of the default domain or of `domain`."""
    if _kymo is None:
        return -1
    if domain:
        return _kymo.kymo_range_pop_domain(_library.text(domain))
    return _kymo.kymo_range_pop()


def add(**values):
    """Adds values to the innermost range of this thread."""
    if _kymo is not None and values:
        _kymo.kymo_range_add(_library.payload(values), len(values))


class range:
    """A range of this thread: a context manager, a decorator, or both at once."""

    def __init__(self, name, *, domain=None, category=None, color=0, **values):
        self._name = name
        self._domain = domain
        self._rest = {"domain": domain, "category": category, "color": color}
        self._rest.update(values)
        self._open = []

    def __enter__(self):
        self._open.append(push(self._name, **self._rest) >= 0)
        return self

    def __exit__(self, *exception):
        if self._open.pop():
            pop(self._domain)
        return False

    def add(self, **values):
        """Adds values; this must be the innermost range of the thread."""
        if self._open and self._open[-1]:
            add(**values)

    def __call__(self, function):
        @_functools.wraps(function)
        def wrapped(*arguments, **keywords):
            # Not `with self`: the function may run on many threads, and call itself.
            pushed = push(self._name, **self._rest) >= 0
            try:
                return function(*arguments, **keywords)
            finally:
                if pushed:
                    pop(self._domain)

        return wrapped


class ProcessRange:
    """A range that any thread may stop: from construction, or `with`, to stop()."""

    def __init__(self, name, *, domain=None, category=None, color=0, **values):
        self._id = 0
        if _kymo is not None:
            self._id = _kymo.kymo_range_start_full(
                _marker(name, domain, category, color, values))

    def stop(self):
        if self._id:
            _kymo.kymo_range_stop(self._id)
        self._id = 0

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.stop()
        return False


def name(what, runtime, handle, text):
    """Names an object of a runtime: name(kymo.QUEUE, "opencl", queue.int_ptr, "copies")."""
    if _kymo is not None:
        _kymo.kymo_name(what, _library.encode(runtime or ""), handle, _library.encode(text))


def name_thread(text):
    """Names the calling thread."""
    name(THREAD, "", 0, text)


def pause(thread=False):
    """Nothing is recorded, of this thread or at all, until resume()."""
    if _kymo is not None:
        _kymo.kymo_control(_PAUSE_THREAD if thread else _PAUSE_ALL)


def resume(thread=False):
    if _kymo is not None:
        _kymo.kymo_control(_RESUME_THREAD if thread else _RESUME_ALL)


class paused:
    """with kymo.paused(): ..."""

    def __init__(self, thread=False):
        self._thread = thread

    def __enter__(self):
        pause(self._thread)

    def __exit__(self, *exception):
        resume(self._thread)
        return False
