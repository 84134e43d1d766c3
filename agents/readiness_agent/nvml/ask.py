"""NVIDIA's management library, asked through ctypes: raw answers and error codes, nothing interpreted.

It runs as a program of its own (:func:`main`) and imports nothing of the agent but the tables beside it, so that it
stays small; :mod:`readiness_agent.probes.gpu_report` starts it. What the answers mean is the business of
:mod:`readiness_agent.parsers.nvml`.
"""

from __future__ import annotations

import json
from ctypes import CDLL, Array, byref, c_int, c_ubyte, c_uint, c_void_p, create_string_buffer, sizeof
from typing import Any, Dict, List, Optional, Sequence, Tuple

from readiness_agent.nvml.tables import (
    EARLIER_NAMES,
    GPU_FIELDS,
    LINK_COUNT,
    LINK_FIELDS,
    LONGEST_TEXT,
    NUMBERS,
    PROCESSES,
    SRAM_NUMBERS,
    STRUCTURES,
    TEXTS,
    VALUE_TYPES,
    Field,
    Process,
    Query,
)

Json = Any
"""What ``json`` can write."""

LIBRARY = "libnvidia-ml.so.1"
DIRECTORIES = (
    "",
    "/usr/local/nvidia/lib64/",
    "/usr/lib/x86_64-linux-gnu/",
    "/usr/lib/aarch64-linux-gnu/",
    "/usr/lib64/",
)
"""Where the library is looked for; first wherever the loader of the system looks."""

SUCCESS = 0
NO_PERMISSION = 4
FUNCTION_NOT_FOUND = 13

MOST_LINKS = 36
MOST_PROCESSES = 512


class Answers:
    """Values by name, and the error code of each question that had none."""

    def __init__(self) -> None:
        self.values: Dict[str, Json] = {}
        self.errors: Dict[str, Json] = {}

    def keep(self, name: str, code: int, value: Json) -> None:
        """*value* when the call succeeded, else its code."""
        if code == SUCCESS:
            self.values[name] = value
        else:
            self.errors[name] = code

    def as_json(self) -> Json:
        return {"values": self.values, "errors": self.errors}


class NoSession(Exception):
    """There is no such library, or it gets no session with a driver; *kind* is that of a problem."""

    def __init__(self, kind: str, detail: str) -> None:
        super().__init__(detail)
        self.kind = kind


def main() -> None:
    """Print ``{"answers": …}`` or ``{"problem": [kind, detail]}``."""
    try:
        print(json.dumps({"answers": ask_nvml()}))
    except NoSession as error:
        print(json.dumps({"problem": [error.kind, str(error)]}))


def ask_nvml() -> Json:
    """Everything of all GPUs, in one session with the driver.

    Raises:
        NoSession: there is no such library, or it has no session with a driver.
    """
    library = _load()
    code = _call(library, "nvmlInit_v2")
    if code != SUCCESS:
        raise NoSession("denied" if code == NO_PERMISSION else "error", f"NVML does not start: error {code}")
    try:
        return _everything(library)
    finally:
        _call(library, "nvmlShutdown")


def _load() -> CDLL:
    for directory in DIRECTORIES:
        try:
            return CDLL(directory + LIBRARY)
        except OSError:
            continue
    raise NoSession("missing", f"{LIBRARY}: not installed")


def _call(library: CDLL, name: str, *arguments: Any) -> int:
    """The code that a function returns; older libraries lack some functions."""
    for spelling in (name, EARLIER_NAMES.get(name, name)):
        try:
            function = getattr(library, spelling)
        except AttributeError:
            continue
        return int(function(*arguments))
    return FUNCTION_NOT_FOUND


def _everything(library: CDLL) -> Json:
    count, cuda = c_uint(), c_int()
    node = Answers()
    node.keep("driver", *_text(library, "nvmlSystemGetDriverVersion"))
    node.keep("cuda", _call(library, "nvmlSystemGetCudaDriverVersion_v2", byref(cuda)), cuda.value)
    node.keep("count", _call(library, "nvmlDeviceGetCount_v2", byref(count)), count.value)
    gpus: List[Json] = [_gpu(library, position).as_json() for position in range(count.value)]
    return {"values": node.values, "errors": node.errors, "gpus": gpus}


def _gpu(library: CDLL, position: int) -> Answers:
    found, handle = Answers(), c_void_p()
    code = _call(library, "nvmlDeviceGetHandleByIndex_v2", c_uint(position), byref(handle))
    if code != SUCCESS:
        found.errors["handle"] = code
        return found
    for name, function in TEXTS.items():
        found.keep(name, *_text(library, function, handle))
    for name, query in NUMBERS.items():
        found.keep(name, *_numbers(library, handle, query))
    for name, (function, structure, version) in STRUCTURES.items():
        found.keep(name, *_structure(library, handle, function, structure, version))
    if "sram" not in found.values:
        for name, query in SRAM_NUMBERS.items():
            found.keep(name, *_numbers(library, handle, query))
    for name, function in PROCESSES.items():
        found.keep(name, *_processes(library, handle, function))
    _fields(library, handle, [(field, 0) for field in GPU_FIELDS], found)
    links = found.values.get(f"field {LINK_COUNT}")
    if isinstance(links, int):
        ids = [(field, link) for link in range(min(links, MOST_LINKS)) for field in LINK_FIELDS]
        _fields(library, handle, ids, found)
    return found


def _text(library: CDLL, function: str, *handle: c_void_p) -> Tuple[int, Json]:
    buffer = create_string_buffer(LONGEST_TEXT)
    code = _call(library, function, *handle, buffer, c_uint(LONGEST_TEXT))
    return code, buffer.value.decode("ascii", "replace")


def _numbers(library: CDLL, handle: c_void_p, query: Query) -> Tuple[int, Json]:
    answers = [kind() for kind in query.answers]
    arguments = [c_uint(one) for one in query.arguments]
    code = _call(library, query.function, handle, *arguments, *(byref(one) for one in answers))
    values: List[Json] = [one.value for one in answers]
    return code, values[0] if len(values) == 1 else values


def _structure(library: CDLL, handle: c_void_p, function: str, kind: Any, version: int) -> Tuple[int, Json]:
    answer = kind()
    if version:
        answer.version = sizeof(kind) | version << 24
    code = _call(library, function, handle, byref(answer))
    return code, {name: _plain(getattr(answer, name)) for name, _ in kind._fields_ if name != "version"}


def _plain(value: Any) -> Json:
    """One member of a structure: a text, an id in hexadecimal, or numbers."""
    if isinstance(value, bytes):
        return value.decode("ascii", "replace")
    if isinstance(value, Array):
        return bytes(value).hex() if value._type_ is c_ubyte else [int(one) for one in value]
    return int(value)


def _processes(library: CDLL, handle: c_void_p, function: str) -> Tuple[int, Json]:
    count, room = c_uint(MOST_PROCESSES), (Process * MOST_PROCESSES)()
    code = _call(library, function, handle, byref(count), room)
    return code, [{"pid": one.pid, "used": one.used} for one in room[: count.value]] if code == SUCCESS else None


def _fields(library: CDLL, handle: c_void_p, ids: Sequence[Tuple[int, int]], found: Answers) -> None:
    """Many values in one call, each with a code of its own."""
    fields = (Field * len(ids))()
    for place, (number, scope) in enumerate(ids):
        fields[place].id, fields[place].scope = number, scope
    code = _call(library, "nvmlDeviceGetFieldValues", handle, c_int(len(ids)), fields)
    for place, (number, scope) in enumerate(ids):
        name = f"field {number}" if number in GPU_FIELDS else f"field {number} link {scope}"
        found.keep(name, code or fields[place].code, _member(fields[place]))


def _member(field: Field) -> Optional[Json]:
    return getattr(field.value, VALUE_TYPES[field.value_type]) if field.value_type < len(VALUE_TYPES) else None
