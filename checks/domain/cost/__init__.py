"""What a training run costs, and what its waiting, stopping and moving of bytes costs.

Money is ``Decimal`` in US dollars, rates and times are ``float``; nothing here reads a clock, a file or a database.
One module a subject; an estimate is line items, each with its formula, its inputs and the price rows it was made of.
"""
