"""Outputs of DCGM: ``dcgmi diag -j`` of versions 3 and 4, ``dcgmi health``, ``dcgmi nvlink``, and preflight events.

The exit status of dcgmi is no verdict: it is 0 in spite of failures, and other numbers without any.
"""

from __future__ import annotations

import json
import re
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

from readiness_agent.parsers.documents import sound_escapes
from readiness_agent.parsers.saved import JSON_INTEGER_MAX, Reading, Saved, whole

ROOTS = ("DCGM Diagnostic", "DCGM GPU Diagnostic")
"""Of version 4, and of version 3."""
CONFIGURATION = ("Deployment",)
"""Categories whose failures are matters of settings and software, not of hardware."""
COUNTED = {"Pass": "passed", "Fail": "failed", "Warn": "warned", "Skip": "skipped"}
NOT_TESTED = ("Skip", "Not Run")
"""Words for a test that was left out; neither is a pass."""
_SYSTEM = " system"
_HEALTH_WORDS = ("Healthy", "Warning", "Failure")
_TOLD_OF_A_WARNING = ("error_id", "error_category", "error_severity")

_ALLOCATED = re.compile(r"Allocated ([0-9]{1,18}) bytes \(([0-9]{1,3}(?:\.[0-9]+)?)%\)")
_BANDWIDTH = re.compile(r"(GPU to Host|Host to GPU|bidirectional) bandwidth:\s*([0-9]{1,6}(?:\.[0-9]+)?) GB/s")
_ROW = re.compile(r"\|\s*(->|)\s*(.*?)\s*\|\s*(.*?)\s*\|")
_GPU_LINE = re.compile(r"\s*(gpuId|physicalId) ([0-9]{1,4}):\s*")
_OWNERS = {"gpuId": "gpu", "physicalId": "nvswitch"}
_BEGIN = re.compile(r"^[ \t]*\{", re.MULTILINE)
_STATES = re.compile(r"\s*[UDX_](?: [UDX_])*\s*")

_Test = Tuple[str, Dict[str, Any]]


class DiagnosticResult(NamedTuple):
    """What one test of a diagnostic found on one GPU; None: the output does not say."""

    test: str
    category: str
    gpu: Optional[int]
    status: str
    memory_share: Optional[float]
    host_to_gpu: Optional[float]
    """GB/s."""
    error_ids: Tuple[int, ...]
    warnings: Tuple[str, ...]


def diagnostic_results(text: str) -> Tuple[DiagnosticResult, ...]:
    """Every result of ``dcgmi diag -j`` by itself; none where the text is no such document. Never raises."""
    try:
        document = _document(sound_escapes(text))
    except (ValueError, RecursionError):
        return ()
    root = next((document[name] for name in ROOTS if isinstance(document, dict) and name in document), None)
    if not isinstance(root, dict):
        return ()
    return tuple(
        _result(category, str(test.get("name", ""))[:64], result)
        for category, test in _tests(root.get("test_categories"))
        for result in (test["results"] if isinstance(test.get("results"), list) else ())
        if isinstance(result, dict)
    )


def _document(text: str) -> Any:
    """The JSON behind whatever a wrapper printed before it.

    Raises:
        ValueError: there is none, or it was cut.
    """
    begin = _BEGIN.search(text)
    return json.loads(text[begin.start() :] if begin else text)


def _result(category: str, name: str, result: Dict[str, Any]) -> DiagnosticResult:
    info = result.get("info")
    said = "\n".join(str(one) for one in info) if isinstance(info, list) else str(info or "")
    allocated = _ALLOCATED.search(said)
    rates = {direction: float(figure) for direction, figure in _BANDWIDTH.findall(said)}
    warnings = result.get("warnings")
    told = warnings if isinstance(warnings, list) else [warnings] if warnings else []
    ids = [one.get("error_id") for one in told if isinstance(one, dict)]
    status = result.get("status")
    return DiagnosticResult(
        name,
        category,
        _gpu_of(result),
        status if isinstance(status, str) else "unknown",
        float(allocated[2]) if allocated else None,
        rates.get("Host to GPU"),
        tuple(one for one in ids if isinstance(one, int) and not isinstance(one, bool)),
        tuple(str(one.get("warning") if isinstance(one, dict) else one)[:300] for one in told),
    )


def _gpu_of(result: Dict[str, Any]) -> Optional[int]:
    """Version 4 names the entity, version 3 a list of GPUs in a text; several GPUs in one result are none."""
    entity = result.get("entity_id") if result.get("entity_group", "GPU") == "GPU" else None
    if isinstance(entity, int) and not isinstance(entity, bool) and 0 <= entity < 1000:
        return entity
    ids = result.get("gpu_ids", result.get("gpu_id"))
    return whole(str(ids)) if str(ids).isdigit() and len(str(ids)) < 4 else None


def read_dcgmi_json(text: str) -> Saved:
    """Any JSON of dcgmi: diagnostics, health, or counters of links. Never raises."""
    reading = Reading()
    try:
        document = _document(sound_escapes(text))
    except (ValueError, RecursionError) as error:
        reading.problem(f"this is no JSON of dcgmi: {error}")
        return reading.result()
    root = next((document[name] for name in ROOTS if isinstance(document, dict) and name in document), None)
    body = document.get("body") if isinstance(document, dict) else None
    if root is not None:
        _diagnostic(reading, document, root)
    elif isinstance(body, dict):
        _body(reading, document, body)
    else:
        reading.problem("this JSON is neither a diagnostic of dcgmi nor a table of it")
    return reading.result()


def _diagnostic(reading: Reading, document: Dict[str, Any], root: Any) -> None:
    metadata = document.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else root if isinstance(root, dict) else {}  # within it in 3.x
    reading.fact("dcgm_version", _text(metadata, "version"), "text")
    reading.fact("driver_version", _text(metadata, "Driver Version Detected"), "text")
    as_promised = isinstance(root, dict)
    failure = _text(root, "runtime_error") if as_promised else None
    if failure:
        reading.problem(f"the diagnostic did not run: {failure[:300]}")
    if not as_promised:
        reading.problem("the diagnostic is a list where dcgmi writes an object: only single tests can be told")
    tests = _tests(root["test_categories"] if as_promised and "test_categories" in root else root)
    statuses = [(category, _status(test)) for category, test in tests]
    if as_promised:
        _counts(reading, statuses)
    for category, test in tests:
        _test(reading, category, test)
    if _is_torn(root["test_categories"] if as_promised and "test_categories" in root else root):
        reading.problem("a category of tests has no list of them: the report is damaged")
    if not tests or all(status in NOT_TESTED for _, status in statuses):
        reading.problem("no test was run")


def _tests(categories: Any) -> List[_Test]:
    found: List[_Test] = []
    for category in categories if isinstance(categories, list) else ():
        tests = category.get("tests") if isinstance(category, dict) else None
        name = str(category.get("category", "")) if isinstance(category, dict) else ""
        found += [(name, test) for test in tests if isinstance(test, dict)] if isinstance(tests, list) else []
    return found


def _is_torn(categories: Any) -> bool:
    """Whether something stands in the place of a category, or of one of its tests, that is none."""
    for category in categories if isinstance(categories, list) else ():
        tests = category.get("tests") if isinstance(category, dict) else None
        if not isinstance(tests, list) or not all(isinstance(test, dict) for test in tests):
            return True
    return False


def _status(test: Dict[str, Any]) -> str:
    """The worst of its results; a test whose results say nothing is none that passed."""
    results = test.get("results")
    statuses = [one.get("status") for one in results if isinstance(one, dict)] if isinstance(results, list) else []
    for status in ("Fail", "Warn", "Pass", *NOT_TESTED):
        if status in statuses:
            return status
    return "unknown"


def _counts(reading: Reading, statuses: List[Tuple[str, str]]) -> None:
    reading.fact("tests", len(statuses), "count")
    for status, name in COUNTED.items():
        words = NOT_TESTED if status in NOT_TESTED else (status,)
        reading.fact(name, sum(1 for _, one in statuses if one in words), "count")
    failed = [category for category, status in statuses if status == "Fail"]
    configuration = sum(1 for category in failed if category in CONFIGURATION)
    reading.fact("failed_configuration", configuration, "count")
    reading.fact("failed_hardware", len(failed) - configuration, "count")


def _test(reading: Reading, category: str, test: Dict[str, Any]) -> None:
    name, status = str(test.get("name", ""))[:64], _status(test)
    reading.fact("status", status, "text", name)
    reading.fact("category", category or None, "text", name)
    results = test.get("results")
    told = [one for one in results if isinstance(one, dict)] if isinstance(results, list) else []
    failed = sorted({_gpu_of(one) for one in told if one.get("status") == "Fail"} - {None}, key=lambda gpu: gpu or 0)
    reading.fact("failed_gpus", " ".join(map(str, failed)) or None, "text", name)
    for result in told:
        gpu = _gpu_of(result)
        subject = f"{name} gpu{gpu}" if len(told) > 1 and gpu is not None else name
        _info(reading, result, subject)
        _warnings(reading, result, subject)
    if status == "unknown":
        reading.problem(f"{name}: its result is not told")


def _info(reading: Reading, result: Dict[str, Any], name: str) -> None:
    info = result.get("info")
    text = "\n".join(str(one) for one in info) if isinstance(info, list) else str(info or "")
    allocated = _ALLOCATED.search(text)
    if allocated:
        reading.fact("memory_tested", int(allocated[1]), "bytes", name)
        reading.fact("memory_share", float(allocated[2]), "percent", name)
    for direction, figure in _BANDWIDTH.findall(text):
        reading.fact(direction.lower().replace(" ", "_"), float(figure), "GB/s", name)


def _warnings(reading: Reading, result: Dict[str, Any], name: str) -> None:
    warnings = result.get("warnings")
    for one in warnings if isinstance(warnings, list) else [warnings] if warnings else []:
        sentence = one.get("warning") if isinstance(one, dict) else one
        reading.problem(f"{name}: {str(sentence)[:300]}")
        for told in _TOLD_OF_A_WARNING:
            number = one.get(told) if isinstance(one, dict) else None
            if isinstance(number, int) and not isinstance(number, bool) and abs(number) <= JSON_INTEGER_MAX:
                reading.fact(told, number, "count", name)


def _body(reading: Reading, document: Dict[str, Any], body: Dict[str, Any]) -> None:
    """A table of dcgmi in JSON: overall health, or counters of each link."""
    overall = body.get("Overall Health")
    header = document.get("header")
    title = " ".join(str(one) for one in header) if isinstance(header, list) else ""
    found = re.search(r"GPU ([0-9]{1,4})", title)
    prefix = f"gpu{found[1]} " if found else ""
    known = False
    if isinstance(overall, dict) and isinstance(overall.get("value"), str):
        reading.fact("overall_health", overall["value"], "text")
        known = True
        _unhealthy(reading, body)
    for link, cell in body.items():
        children = cell.get("children") if isinstance(cell, dict) else None
        if isinstance(children, dict) and link.startswith("Link "):
            known = True
            _link(reading, children, prefix + link.lower())
    if not known:
        reading.problem("this table of dcgmi is none of health or of links")


def _link(reading: Reading, children: Dict[str, Any], subject: str) -> None:
    for name, cell in children.items():
        count = whole(str(cell.get("value"))) if isinstance(cell, dict) else None
        reading.fact(name.lower().replace(" ", "_") + "s", count, "count", subject)
        if count is None:
            reading.problem(f"{subject}: {name} is no number")


def _unhealthy(reading: Reading, body: Dict[str, Any]) -> None:
    """Entities below the overall health, each with its systems and what is wrong with them."""
    systems: List[str] = []
    for group, cell in body.items():
        for number, entity in _children(cell).items():
            subject = f"{group.lower()}{number}"
            reading.fact("health", _text(entity, "value"), "text", subject)
            for path, value in _leaves(entity):
                systems += [name for name in path if name.endswith(_SYSTEM)]
                if value not in _HEALTH_WORDS:
                    reading.problem(f"{subject}: {value[:300]}")
    _failing(reading, systems)


def _children(cell: Any) -> Dict[str, Any]:
    children = cell.get("children") if isinstance(cell, dict) else None
    return {name: one for name, one in children.items() if isinstance(one, dict)} if isinstance(children, dict) else {}


def _leaves(cell: Dict[str, Any], path: Tuple[str, ...] = ()) -> List[Tuple[Tuple[str, ...], str]]:
    """Every text below *cell*, with the names that lead to it; dcgmi nests five levels."""
    found: List[Tuple[Tuple[str, ...], str]] = []
    for name, child in _children(cell).items():
        value = _text(child, "value")
        found += [((*path, name), value)] if value else []
        found += _leaves(child, (*path, name)) if len(path) < 8 else []
    return found


def _failing(reading: Reading, systems: List[str]) -> None:
    names = [name[: -len(_SYSTEM)].replace(" ", "_") for name in systems]
    reading.fact("failing_systems", " ".join(dict.fromkeys(names)) or None, "text")


def read_dcgmi_health(text: str) -> Saved:
    """``dcgmi health -c`` as a table, or as JSON. Never raises."""
    if _BEGIN.search(text) or text.lstrip().startswith("["):
        return read_dcgmi_json(text)
    reading = Reading()
    group, subject, systems = "gpu", "", []
    rows = [found.groups() for found in map(_ROW.match, text.splitlines()) if found]
    for arrow, name, value in rows:
        if name == "Overall Health":
            reading.fact("overall_health", value, "text")
        elif arrow and name.isdigit():
            subject = f"{group}{name}"
            reading.fact("health", value, "text", subject)
        elif arrow and name.endswith(_SYSTEM):
            systems.append(name)
        elif not name and value:
            reading.problem(f"{subject}: {value}")
        elif name.isalpha() and not (arrow or value):
            group = name.lower()
    _failing(reading, systems)
    if not any(name == "Overall Health" for _, name, _ in rows):
        reading.problem("there is no table of dcgmi health in this text")
    return reading.result()


def read_dcgmi_nvlink(text: str) -> Saved:
    """``dcgmi nvlink -s``: a letter for each link of each GPU and of each NVSwitch. Never raises."""
    reading = Reading()
    gpu = ""
    found_any = False
    for line in text.splitlines():
        head = _GPU_LINE.fullmatch(line)
        gpu = f"{_OWNERS[head[1]]}{head[2]}" if head else gpu if gpu and _STATES.fullmatch(line) else ""
        if gpu and not head:
            found_any = True
            _states(reading, line.split(), gpu)
            gpu = ""
    if not found_any:
        reading.problem("there is no GPU of dcgmi nvlink -s in this text")
    return reading.result()


def _states(reading: Reading, letters: List[str], subject: str) -> None:
    present = [letter for letter in letters if letter != "_"]
    reading.fact("links", len(present), "count", subject)
    reading.fact("links_up", present.count("U"), "count", subject)
    reading.fact("links_down", present.count("D"), "count", subject)
    reading.fact("links_disabled", present.count("X"), "count", subject)
    down = " ".join(str(place) for place, letter in enumerate(letters) if letter == "D")
    reading.fact("down_links", down or None, "text", subject)


def read_preflight(text: str) -> Saved:
    """Events of a preflight job, one JSON object a line; its summary counts, not the level of its lines."""
    reading = Reading()
    events = [event for event in map(_object, text.splitlines()) if event]
    summary = next((event for event in events if event.get("event") == "Diagnostic summary"), None)
    if summary is None:
        reading.problem("there is no summary of a preflight job in this text")
        return reading.result()
    counts = {name: summary.get(key) for name, key in (("tests", "total"), *((n, n) for n in COUNTED.values()))}
    if not all(isinstance(count, int) and 0 <= count < 10**6 for count in counts.values()):
        reading.problem("the summary of the preflight job lacks a count")
        return reading.result()
    for name, count in counts.items():
        reading.fact(name, count, "count")
    codes = sorted({event["error_code"] for event in events if isinstance(event.get("error_code"), int)})
    reading.fact("warning_codes", " ".join(str(code) for code in codes) or None, "text")
    if counts["failed"]:
        reading.problem(f"{counts['failed']} of {counts['tests']} tests failed")
    return reading.result()


def _object(line: str) -> Optional[Dict[str, Any]]:
    try:
        value = json.loads(sound_escapes(line))
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _text(values: Dict[str, Any], name: str) -> Optional[str]:
    value = values.get(name)
    return value if isinstance(value, str) else None
