"""T-COMPAT-01: the figures that others know us by. Ours and another tool look at the same busy host at the same
time; every column that both have is within 5 %, or the difference is known and shown to be what it is.

bench/compat does the same for a minute and prints the table.
"""
import os
import sys

import pytest

from helpers import BINARY, IS_ASAN, ROOT

sys.path.insert(0, str(ROOT / "bench"))
import agreement # noqa: E402
import measure # noqa: E402

SECONDS = 8


def other_tool(name):
    """None is a reader of our own that has nothing in common with the tracker's code."""
    if name == "own reader":
        return None
    peer, reason = agreement.python_tool()
    if peer is None:
        pytest.skip(f"the Python tool cannot be had: {reason}")
    return peer


@pytest.mark.skipif(IS_ASAN, reason="the other build says the same")
@pytest.mark.parametrize("name", ["own reader", "Python tool"])
def test_t_compat_01_every_shared_column_agrees(name, record_property):
    other = other_tool(name)
    with measure.busy_host(max(1, os.cpu_count() // 2)):
        rows = agreement.compare(*agreement.run_both(BINARY, other, SECONDS))
    for row in rows:
        record_property(row["column"], f"{row['ours']} {row['theirs']} {row['verdict']}")
    assert len(rows) >= 20
    assert [row for row in rows if row["verdict"] == "DIFFERS"] == []
