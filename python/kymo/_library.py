# SPDX-License-Identifier: Apache-2.0
"""libkymo through ctypes: the structures of <kymo/marker.h> and its functions."""
import ctypes
import os

INT64, UINT64, DOUBLE, STRING, BYTES = 1, 2, 3, 4, 5


class String(ctypes.Structure):
    """kymo_string_t: must live as long as the process, see text()."""

    _fields_ = [("text", ctypes.c_char_p), ("id", ctypes.c_uint32), ("reserved", ctypes.c_uint32)]


class Value(ctypes.Union):
    _fields_ = [("i", ctypes.c_int64), ("u", ctypes.c_uint64), ("d", ctypes.c_double),
                ("p", ctypes.c_char_p)]


class Payload(ctypes.Structure):
    _fields_ = [("key", ctypes.c_char_p), ("type", ctypes.c_uint32), ("reserved", ctypes.c_uint32),
                ("value", Value), ("length", ctypes.c_size_t)]


class Marker(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("name", ctypes.c_char_p),
                ("string", ctypes.POINTER(String)), ("domain", ctypes.POINTER(String)),
                ("category", ctypes.POINTER(String)), ("color", ctypes.c_uint32),
                ("payload_count", ctypes.c_uint32), ("payload", ctypes.POINTER(Payload))]


FUNCTIONS = {
    "kymo_mark": (None, [ctypes.c_char_p]),
    "kymo_mark_full": (None, [ctypes.POINTER(Marker)]),
    "kymo_range_push": (ctypes.c_int, [ctypes.c_char_p]),
    "kymo_range_push_string": (ctypes.c_int, [ctypes.POINTER(String)]),
    "kymo_range_push_full": (ctypes.c_int, [ctypes.POINTER(Marker)]),
    "kymo_range_pop": (ctypes.c_int, []),
    "kymo_range_pop_domain": (ctypes.c_int, [ctypes.POINTER(String)]),
    "kymo_range_add": (None, [ctypes.POINTER(Payload), ctypes.c_uint32]),
    "kymo_range_start_full": (ctypes.c_uint64, [ctypes.POINTER(Marker)]),
    "kymo_range_stop": (ctypes.c_int, [ctypes.c_uint64]),
    "kymo_name": (None, [ctypes.c_int, ctypes.c_char_p, ctypes.c_uint64, ctypes.c_char_p]),
    "kymo_control": (None, [ctypes.c_int]),
}


def bind(library):
    """Declares the functions. PyDLL: they are short and must not give up the interpreter lock."""
    for name, (result, arguments) in FUNCTIONS.items():
        function = getattr(library, name)
        function.restype = result
        function.argtypes = arguments
    return library


def find():
    """The libkymo that is in the process already, or None: nothing is loaded by looking."""
    for name, mode in ((None, 0), ("libkymo.so.1", os.RTLD_LAZY | getattr(os, "RTLD_NOLOAD", 4))):
        try:
            return bind(ctypes.PyDLL(name, mode=mode))
        except (OSError, AttributeError):
            continue
    return None


_texts = {}
_TEXTS_MAX = 8192


def text(s):
    """A pointer to a registered string of `s`, the same each time; None when there are too many."""
    found = _texts.get(s)
    if found is None and len(_texts) < _TEXTS_MAX:
        string = String(encode(s), 0, 0)
        found = _texts.setdefault(s, ctypes.pointer(string))
    return found


def encode(s):
    return str(s).encode("utf-8", "replace")


def payload(values):
    """An array of payloads, and what must stay alive with it."""
    array = (Payload * len(values))()
    for entry, (key, value) in zip(array, values.items()):
        entry.key = encode(key)
        if isinstance(value, (bytes, bytearray, memoryview)):
            data = bytes(value)
            entry.type, entry.length = BYTES, len(data)
            # c_char_p keeps a reference to `data`, zeros inside it included.
            entry.value.p = data if data else None
        elif isinstance(value, (bool, int)) and -(1 << 63) <= value < 1 << 63:
            entry.type, entry.value.i = INT64, int(value)
        elif isinstance(value, int) and 0 <= value < 1 << 64:
            entry.type, entry.value.u = UINT64, value
        elif isinstance(value, float):
            entry.type, entry.value.d = DOUBLE, value
        else:
            entry.type, entry.value.p = STRING, encode(value)
    return array
