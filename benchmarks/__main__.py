"""``python -m benchmarks [NAME…]``: run the named benchmarks, or all but those that need a GPU."""

import subprocess
import sys

NAMES = ("ingest", "gate", "pages", "agent", "herd", "history", "dataset", "drift", "incidents")
ON_A_GPU = ("steps", "gpu_facts")


def main(names: list[str]) -> None:
    """Run each benchmark; an unknown name is refused before anything starts."""
    unknown = [name for name in names if name not in NAMES + ON_A_GPU]
    if unknown:
        sys.exit(f"No benchmark is called {', '.join(unknown)}; there are: {', '.join(NAMES + ON_A_GPU)}.")
    for name in names or NAMES:
        # Each in a process of its own: Django is set up for one database, and each benchmark has its own.
        subprocess.run([sys.executable, "-m", f"benchmarks.{name}"], check=True)


if __name__ == "__main__":
    main(sys.argv[1:])
