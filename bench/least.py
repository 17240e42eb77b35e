"""The least that our design can do: what a target misses by it, and what by all that the contract asks besides."""

from __future__ import annotations

from dataclasses import replace

from bench import product
from bench.rounds import Contender
from bench.world import HERE, Database

__all__ = ["NAME", "of"]

NAME = "the least of this design"

_CALLS = {
    product.FINISH_AND_NEXT: "least.finish_and_next(:lease, :hand) as range_id",
    "leases.heartbeat(lease_id => :lease, next_id => :next)": "least.heartbeat(:lease, :next)",
    "leases.lease_group(node_id => :node, lane => 'history')": "least.lease_group(:node) as lease_id",
    "leases.release_group(lease_id => :lease)": "least.release_group(:lease)",
}


def of(contender: Contender, database: Database) -> Contender:
    """Return the same script in that database, with the functions of ``least.sql`` in place of the product's."""
    if not database.value("select to_regnamespace('least') is not null"):
        database.script(HERE / "least.sql")
    script = contender.script
    for call, least in _CALLS.items():
        script = script.replace(call, least)
    return replace(contender, name=NAME, script=script, database=database)
