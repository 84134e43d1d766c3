"""``python -m benchmarks [NAME…]``: run the named benchmarks, or all of them."""

import importlib
import sys

NAMES = ("ingest", "gate", "pages", "agent")


def main(names: list[str]) -> None:
    """Run each benchmark; an unknown name is refused before anything starts."""
    unknown = [name for name in names if name not in NAMES]
    if unknown:
        sys.exit(f"No benchmark is called {', '.join(unknown)}; there are: {', '.join(NAMES)}.")
    for name in names or NAMES:
        importlib.import_module(f"benchmarks.{name}").main()


if __name__ == "__main__":
    main(sys.argv[1:])
