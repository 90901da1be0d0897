"""Jobs on a cluster of Ray: functions from a data set to a data set.

`python -m ctru.ray --help` tells of jobs from Parquet files to Parquet files, which can be stopped
and resumed.

Ray keeps arguments, closures and objects in clear, in shared memory and on disk. So a seed is never
an argument here: each actor reads it from `seed_file` on its own node, a file of 32 random bytes
with the mode 0600. Private keys and shared secrets are columns only with `include_secrets=True`.
Without them, make them again from the seed file, the context and the row.

A row that is computed again after a failure has the same bytes, if there is a seed file.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa  # type: ignore[import-untyped]

from .. import arrow
from ._errors import JobError
from ._place import placement
from ._work import Work, Worker

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ray.data import Dataset


__all__ = ["JobError", "decapsulate", "digest", "encapsulate", "generate_public_keys"]

#: Rows of a batch, unless the caller says another number.
BATCH_SIZE = 1 << 16


def generate_public_keys(
    count: int,
    *,
    set: str = "761",
    seed_file: str,
    context: str,
    encoding: str = "mixed-radix",
    include_secrets: bool = False,
    device: str = "auto",
    actors: int | None = None,
    threads: int | None = None,
    batch_size: int = BATCH_SIZE,
) -> Dataset:
    """Returns a data set with the columns `row`, which counts from 0, and `public_key`, and with
    `include_secrets=True` the column `private_key`."""
    work = Work("keygen", set, encoding, seed_file, context, include_secrets, device)
    work.check()
    if count < 0 or batch_size < 1:
        raise ValueError("the number of rows is negative, or batches would have no rows")
    # Actors of jobs over files start faster without it.
    import ray.data

    blocks = max(1, -(-count // batch_size))
    rows = ray.data.range(count, override_num_blocks=blocks).rename_columns({"id": "row"})
    return _map(rows, work, actors, threads, batch_size)


def encapsulate(
    dataset: Dataset,
    *,
    set: str = "761",
    seed_file: str | None = None,
    context: str | None = None,
    encoding: str = "mixed-radix",
    include_secrets: bool = False,
    device: str = "auto",
    actors: int | None = None,
    threads: int | None = None,
    batch_size: int = BATCH_SIZE,
) -> Dataset:
    """Encapsulates once to each key of a data set with the columns `row` and `public_key`. Returns
    the data set with the column `ciphertext` instead of `public_key`, and with
    `include_secrets=True` also with the column `shared_secret`.

    Without a seed file, the data set is computed at once and kept: Ray computes others each time
    that they are read, and would encapsulate again. Raises `ValueError` with neither a seed file
    nor `include_secrets=True`, because the shared secrets would be lost.
    """
    work = Work("encaps", set, encoding, seed_file, context, include_secrets, device)
    work.check()
    sent = _map(dataset, work, actors, threads, batch_size)
    return sent if seed_file else sent.materialize()


def decapsulate(
    dataset: Dataset,
    *,
    set: str = "761",
    seed_file: str | None = None,
    context: str | None = None,
    encoding: str = "mixed-radix",
    include_secrets: bool = False,
    device: str = "auto",
    actors: int | None = None,
    threads: int | None = None,
    batch_size: int = BATCH_SIZE,
) -> Dataset:
    """Decapsulates each ciphertext of a data set with the columns `row` and `ciphertext`. Returns
    the data set with the column `shared_secret` instead of `ciphertext`.

    With a seed file, the private keys are made again as `generate_public_keys` made them. Otherwise
    they are the column `private_key`. Raises `ValueError` without `include_secrets=True`, because
    the shared secrets are the only result.
    """
    work = Work("decaps", set, encoding, seed_file, context, include_secrets, device)
    work.check()
    return _map(dataset, work, actors, threads, batch_size)


def digest(dataset: Dataset, columns: Sequence[str], *, batch_size: int = BATCH_SIZE) -> int:
    """Returns the digest of a data set: the sum modulo 2^256 of SHA-256(row as 8 bytes,
    little-endian, then the bytes of the columns in the order given)."""
    parts = dataset.map_batches(
        partial(_digest_of_table, columns=list(columns)),
        batch_format="pyarrow",
        batch_size=batch_size,
    )
    sums = (int.from_bytes(row["digest"], "big") for row in parts.iter_rows())
    return sum(sums) % 2**256


def _digest_of_table(table: pa.Table, columns: list[str]) -> pa.Table:
    """Returns a table with one row: the digest of a table."""
    total = arrow.digest(table, columns)
    return pa.table({"digest": pa.array([total.to_bytes(32, "big")], pa.binary())})


def _map(
    dataset: Dataset, work: Work, actors: int | None, threads: int | None, batch_size: int
) -> Dataset:
    """Performs an operation on a data set, by actors."""
    # Tasks that read and write blocks take a CPU of each node.
    placed, count, resources = placement(work, actors, threads, spare=1)
    return dataset.map_batches(
        Worker,
        fn_constructor_args=(placed,),
        batch_format="pyarrow",
        batch_size=batch_size,
        zero_copy_batch=True,
        concurrency=(1, count),
        **resources,
    )
