"""Small enough to read."""

from tests.architecture.source_files import ROOT, functions, python_files

LONGEST_FUNCTION = 45  # lines
LONGEST_MODULE = 400
LONGEST_SETTINGS = 250


def test_no_function_is_longer_than_45_lines() -> None:
    too_long = [
        f"{path.relative_to(ROOT)}:{function.lineno} {function.name}"
        for path in python_files()
        for function in functions(path)
        if (function.end_lineno or 0) - function.lineno + 1 > LONGEST_FUNCTION
    ]
    assert not too_long


def test_no_module_is_longer_than_400_lines() -> None:
    too_long = [
        str(path.relative_to(ROOT))
        for path in python_files()
        if len(path.read_text(encoding="utf-8").splitlines()) > LONGEST_MODULE
    ]
    assert not too_long


def test_the_settings_stay_one_short_file() -> None:
    assert len((ROOT / "portal" / "settings.py").read_text(encoding="utf-8").splitlines()) < LONGEST_SETTINGS
