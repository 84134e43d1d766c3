"""How often a run has to expect to be interrupted: published rates, the cluster's own history, and what follows."""
