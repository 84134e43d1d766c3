"""What went wrong: how it stands, when it comes back, what it cost, and what it says about the checklist. Pure."""
