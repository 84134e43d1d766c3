"""What differs, of everything that a node is set to: among its peers, since a day, between clusters and runs.

A setting is a name such as ``sysctl:net.core.netdev_max_backlog`` and a text. Nothing here judges: rank is an order to
look in, not a cause.
"""
