"""One module a command, with ``main(argv) -> exit code``. Only the one that runs is imported."""
