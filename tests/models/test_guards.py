"""The functions that run as owner for the serving role: what they let it do, and nothing besides."""

from collections.abc import Callable

import psycopg
import pytest

Connect = Callable[[str], psycopg.Connection]


def test_the_serving_role_makes_partitions_through_the_owners_function_only(connect_as: Connect) -> None:
    app = connect_as("app")
    assert app.execute("SELECT ensure_partitions()").fetchone() == (0,)
    app.commit()
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        app.execute("CREATE TABLE checks_report_p19990101 (LIKE checks_report)")


@pytest.mark.parametrize("name", ["ensure_partitions", "drop_partitions"])
def test_functions_that_run_as_owner_pin_their_search_path(connect_as: Connect, name: str) -> None:
    asked = "SELECT prosecdef, proconfig FROM pg_proc WHERE proname = %s"
    (definer, settings) = connect_as("app").execute(asked, [name]).fetchone() or (None, None)

    assert definer
    assert "search_path=pg_catalog, public, pg_temp" in settings
