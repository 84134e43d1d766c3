"""Lets ``python3 agents COMMAND`` run the agent from a checkout, with nothing installed."""

import sys

from readiness_agent.cli import main

if __name__ == "__main__":
    sys.exit(main())
