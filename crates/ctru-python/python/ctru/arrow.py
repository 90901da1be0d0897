"""Functions from a record batch of Arrow to a record batch.

Ray Data, Spark's `mapInArrow`, Dask, Polars and DataFusion can call them. Each function adds
columns to the columns of its batch, which is a `pyarrow.RecordBatch`, or a `pyarrow.Table` with
columns in chunks. The result is of the same kind. A column with the name of a new one is replaced.

Keys and ciphertexts are columns of `fixed_size_binary`, or of `binary`, `large_binary`,
`binary_view`, a dictionary of these, or an extension of one, whose values are copied first. New
columns have the type of the column that is read if that is `binary`, `large_binary` or
`binary_view`, and `fixed_size_binary` otherwise.

With `seed` and `context`, the operation of a row takes the seed that is derived for the number in
the column `row`, as in `ctru.Engine`: the same row has the same result in every batch.

Private keys and shared secrets that become no column are wiped. Columns are never wiped.

A process has one engine for each parameter set and device.
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]

from . import Engine, parameters
from ._ctru import digest as _digest

if TYPE_CHECKING:
    from typing_extensions import Buffer


__all__ = ["decapsulate", "digest", "encapsulate", "engine", "generate"]

#: A record batch, or a table.
Batch = TypeVar("Batch", pa.RecordBatch, pa.Table)

_engines: dict[tuple[str, str, str, int | None], Engine] = {}
_lock = threading.Lock()


def _forget() -> None:
    """Forgets the engines of the process that was forked, whose threads do not exist here."""
    global _lock
    _lock = threading.Lock()
    _engines.clear()


os.register_at_fork(after_in_child=_forget)


def engine(
    set: str,
    *,
    encoding: str = "mixed-radix",
    device: str = "auto",
    threads: int | None = None,
) -> Engine:
    """Returns the engine of this process for a parameter set, and makes it at the first call."""
    key = (set, encoding, device, threads)
    with _lock:
        if key not in _engines:
            _engines[key] = Engine(set, device, encoding=encoding, threads=threads)
        return _engines[key]


def generate(
    batch: Batch,
    *,
    set: str = "761",
    seed: Buffer | None = None,
    context: Buffer | str | None = None,
    row: str = "row",
    public_key: str = "public_key",
    private_key: str | None = "private_key",
    encoding: str = "mixed-radix",
    device: str = "auto",
    threads: int | None = None,
) -> Batch:
    """Adds a key pair to each row, in the columns `public_key` and `private_key`.

    With `private_key=None`, only public keys are added. Without a seed, the private keys are lost
    then, so this is a `ValueError`.
    """
    if private_key is None and seed is None:
        raise ValueError("private keys that are neither a column nor made from a seed are lost")
    _check_new(batch, public_key=public_key, private_key=private_key)
    run = engine(set, encoding=encoding, device=device, threads=threads)

    def of_run(_offset: int, count: int, **seeds: Any) -> tuple[Any, Any]:
        keys = run.generate(count, kind="arrow", **seeds)
        if private_key is None:
            _wipe(keys[1])
        return keys

    public, private = _in_runs(batch, seed, context, row, of_run)
    with _wiped_on_error(private):
        new = [(public_key, public)]
        if private_key is not None:
            new.append((private_key, private))
        return _with(batch, new)


def encapsulate(
    batch: Batch,
    public_key: str = "public_key",
    *,
    set: str = "761",
    seed: Buffer | None = None,
    context: Buffer | str | None = None,
    row: str = "row",
    ciphertext: str = "ciphertext",
    shared_secret: str | None = "shared_secret",
    encoding: str = "mixed-radix",
    device: str = "auto",
    threads: int | None = None,
) -> Batch:
    """Encapsulates once to the key of each row, and adds the columns `ciphertext` and
    `shared_secret`.

    With `shared_secret=None`, only ciphertexts are added. Without a seed, the shared secrets are
    lost then, so this is a `ValueError`.

    Raises `ctru.InvalidKey` with the first row that is not a key.
    """
    if shared_secret is None and seed is None:
        raise ValueError("shared secrets that are neither a column nor made from a seed are lost")
    _check_new(batch, ciphertext=ciphertext, shared_secret=shared_secret)
    sizes = parameters(set, encoding=encoding)
    run = engine(set, encoding=encoding, device=device, threads=threads)
    keys = _rows(batch, public_key, sizes.public_key_bytes)

    def of_run(offset: int, count: int, **seeds: Any) -> tuple[Any, Any]:
        try:
            secrets, ciphertexts = run.encapsulate(keys.slice(offset, count), **seeds)
        except (TypeError, ValueError) as error:
            raise _located(error, {"public_keys": public_key}, offset) from None
        if shared_secret is None:
            _wipe(secrets)
        return ciphertexts, secrets

    ciphertexts, secrets = _in_runs(batch, seed, context, row, of_run)
    with _wiped_on_error(secrets):
        new = [(ciphertext, _like(keys, ciphertexts))]
        if shared_secret is not None:
            new.append((shared_secret, _like(keys, secrets)))
        return _with(batch, new)


def decapsulate(
    batch: Batch,
    private_key: str = "private_key",
    ciphertext: str = "ciphertext",
    *,
    set: str = "761",
    seed: Buffer | None = None,
    context: Buffer | str | None = None,
    row: str = "row",
    shared_secret: str = "shared_secret",
    encoding: str = "mixed-radix",
    device: str = "auto",
    threads: int | None = None,
) -> Batch:
    """Decapsulates the ciphertext of each row with its private key, and adds the column
    `shared_secret`.

    With `seed` and `context`, the private key of a row is made again as `generate` made it, and
    the column `private_key` is not read.

    Raises `ctru.InvalidKey` with the first row that is not a key.
    """
    _check_new(batch, shared_secret=shared_secret)
    sizes = parameters(set, encoding=encoding)
    run = engine(set, encoding=encoding, device=device, threads=threads)
    ciphertexts = _rows(batch, ciphertext, sizes.ciphertext_bytes)
    if seed is not None or context is not None:

        def of_run(offset: int, count: int, **seeds: Any) -> tuple[Any]:
            _, keys = run.generate(count, kind="arrow", **seeds)
            try:
                return (run.decapsulate(keys, ciphertexts.slice(offset, count)),)
            except (TypeError, ValueError) as error:
                raise _located(error, {"ciphertexts": ciphertext}, offset) from None
            finally:
                _wipe(keys)

        (secrets,) = _in_runs(batch, seed, context, row, of_run)
    else:
        keys = _rows(batch, private_key, sizes.private_key_bytes)
        try:
            secrets = run.decapsulate(keys, ciphertexts)
        except (TypeError, ValueError) as error:
            names = {"private_keys": private_key, "ciphertexts": ciphertext}
            raise _located(error, names, 0) from None
    with _wiped_on_error(secrets):
        return _with(batch, [(shared_secret, _like(ciphertexts, secrets))])


def digest(batch: pa.RecordBatch | pa.Table, columns: Sequence[str], *, row: str = "row") -> int:
    """Returns the digest of a batch: the sum modulo 2^256 of SHA-256(row as 8 bytes, little-endian,
    then the bytes of the columns in the order given).

    A hash is read as a number whose first byte is the most significant one. The digest of a data
    set is the sum of the digests of its batches modulo 2^256. It does not depend on their order.
    """
    if isinstance(columns, str):
        raise TypeError("columns is a str, not a sequence of names")
    numbers = _numbers(batch, row)
    arrays = [_column(batch, name) for name in columns]
    names = [f"columns[{place}]" for place in range(len(columns))]
    try:
        total = _digest(_content(numbers), arrays)
    except (TypeError, ValueError) as error:
        raise _located(error, dict(zip(names, columns, strict=True)), 0) from None
    return int.from_bytes(total, "big")


def _wipe(secrets: pa.FixedSizeBinaryArray) -> None:
    """Overwrites a new array of an engine, whose memory nobody else has, before it is freed."""
    data = secrets.buffers()[1]
    if data is not None and data.size:
        memoryview(data).cast("B")[:] = bytes(data.size)


@contextmanager
def _wiped_on_error(secrets: pa.FixedSizeBinaryArray) -> Iterator[None]:
    """Wipes a new array of an engine if an error keeps it from becoming a column."""
    try:
        yield
    except BaseException:
        _wipe(secrets)
        raise


def _in_runs(
    batch: pa.RecordBatch | pa.Table,
    seed: Buffer | None,
    context: Buffer | str | None,
    row: str,
    compute: Callable[..., tuple[Any, ...]],
) -> list[pa.Array]:
    """Calls `compute` for each run of consecutive row numbers: with its place in the batch, its
    length, and the arguments of `ctru.Engine` that derive its seeds. Returns the results of all
    runs, one after the other.

    The last result of `compute` has secrets. It is wiped if it is not returned itself.
    """
    seeds = {"seed": seed, "context": context}
    if seed is None or batch.num_rows == 0:
        return list(compute(0, batch.num_rows, **seeds))
    numbers = _numbers(batch, row)
    parts: list[tuple[Any, ...]] = []
    try:
        for first, offset, count in _runs(numbers):
            parts.append(compute(offset, count, first=first, **seeds))
        if len(parts) == 1:
            return list(parts.pop())
        # Secrets are joined last, so nothing fails once there is a second array with them.
        return [pa.concat_arrays(arrays) for arrays in zip(*parts, strict=True)]
    finally:
        for *_, secrets in parts:
            _wipe(secrets)


def _runs(numbers: pa.UInt64Array) -> Iterator[tuple[int, int, int]]:
    """Returns the first number, the place and the length of each run of consecutive numbers."""
    after = numbers[1:]
    follows = pc.equal(after, pc.add(numbers[:-1], pa.scalar(1, pa.uint64())))
    # The sum wraps, and no row follows the largest number.
    breaks = pc.or_(pc.invert(follows), pc.equal(after, pa.scalar(0, pa.uint64())))
    places = [0, *(place + 1 for place in pc.indices_nonzero(breaks).to_pylist())]
    for place, end in zip(places, [*places[1:], len(numbers)], strict=True):
        yield numbers[place].as_py(), place, end - place


def _check_batch(batch: pa.RecordBatch | pa.Table) -> None:
    """Refuses what is no batch."""
    if not isinstance(batch, pa.RecordBatch | pa.Table):
        kind = type(batch).__name__
        raise TypeError(f"batch is a {kind}, not a pyarrow.RecordBatch or a pyarrow.Table")


def _check_new(batch: pa.RecordBatch | pa.Table, **names: str | None) -> None:
    """Refuses what is no batch, and names of new columns that are no text or the same text. The
    second name may be `None`: then there is no such column."""
    _check_batch(batch)
    for place, (argument, name) in enumerate(names.items()):
        if not isinstance(name, str) and (name is not None or place == 0):
            raise TypeError(f"{argument} is a {type(name).__name__}, not a str")
    if len({*names.values()}) < len(names):
        raise ValueError(f"{' and '.join(names)} are one name: {name!r}")


def _column(batch: pa.RecordBatch | pa.Table, name: str) -> pa.Array | pa.ChunkedArray:
    """Returns the column `name`."""
    _check_batch(batch)
    if not isinstance(name, str):
        raise TypeError(f"the name of a column is a {type(name).__name__}, not a str")
    places = batch.schema.get_all_field_indices(name)
    if len(places) != 1:
        known = ", ".join(batch.schema.names)
        raise ValueError(f"the batch has {len(places)} columns {name!r}; its columns are {known}")
    return batch.column(places[0])


def _numbers(batch: pa.RecordBatch | pa.Table, row: str) -> pa.UInt64Array:
    """Returns the numbers of the rows."""
    column = _column(batch, row)
    kind = column.type
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    while True:
        if isinstance(column, pa.ExtensionArray):
            column = column.storage
        elif isinstance(column, pa.DictionaryArray):
            column = column.dictionary.take(column.indices)
        else:
            break
    if not pa.types.is_integer(column.type):
        raise TypeError(f"the column {row!r} has the type {kind}, not uint64")
    if column.null_count:
        null = pc.index(pc.is_null(column), True).as_py()
        raise ValueError(f"row {null} of the column {row!r} is null")
    try:
        return column.cast(pa.uint64())
    except pa.ArrowInvalid:
        raise ValueError(f"the column {row!r} has a number that is not in 0..2**64") from None


def _content(numbers: pa.UInt64Array) -> Buffer:
    """Returns the bytes of numbers, which are little-endian on all machines that Arrow supports."""
    data = numbers.buffers()[1]
    if data is None or not len(numbers):
        return b""
    return memoryview(data).cast("B")[8 * numbers.offset : 8 * (numbers.offset + len(numbers))]


def _rows(batch: pa.RecordBatch | pa.Table, name: str, size: int) -> pa.Array | pa.ChunkedArray:
    """Returns the column `name`, whose values must have `size` bytes."""
    column = _column(batch, name)
    kind = column.type
    if pa.types.is_fixed_size_binary(kind) and kind.byte_width != size:
        raise TypeError(f"the column {name!r} has the type {kind}, not {pa.binary(size)}")
    return column


def _like(
    column: pa.Array | pa.ChunkedArray, rows: pa.FixedSizeBinaryArray
) -> pa.Array | pa.ChunkedArray:
    """Returns rows with the type of a column, if its type says nothing of their size."""
    kind, of = column.type, pa.types
    if not (of.is_binary(kind) or of.is_large_binary(kind) or of.is_binary_view(kind)):
        return rows
    if isinstance(column, pa.ChunkedArray):
        # An array of `binary` has less than 2 GiB. So a chunk gets one, as its results are shorter.
        data, width, chunks, start = rows.buffers()[1], rows.type.byte_width, [], 0
        for chunk in column.chunks:
            # Of a slice of `rows`, a cast would copy all bytes.
            buffers = [None, data.slice(start * width, len(chunk) * width)]
            part = type(rows).from_buffers(rows.type, len(chunk), buffers)
            chunks.append(_like(chunk, part))
            start += len(chunk)
        return pa.chunked_array(chunks, kind)
    try:
        return rows.cast(kind)
    except pa.ArrowNotImplementedError:
        # Old versions of pyarrow cannot cast to `binary_view`.
        return pa.array(rows.to_pylist(), kind)


def _located(
    error: TypeError | ValueError, columns: dict[str, str], offset: int
) -> TypeError | ValueError:
    """Returns an error about an argument, or about a row of it, as an error about its column and
    the row of this. `columns` has the column of each argument."""
    text = str(error)
    for argument, column in columns.items():
        found = re.fullmatch(rf"(?:row (\d+) of )?{re.escape(argument)} (.*)", text, re.DOTALL)
        if found:
            row, what = found.groups()
            of_row = "" if row is None else f"row {int(row) + offset} of "
            return type(error)(f"{of_row}the column {column!r} {what}")
    return error


def _with(batch: Batch, new: list[tuple[str, pa.Array]]) -> Batch:
    """Returns the batch with more columns. A column with the same name is replaced.

    What a job of `ctru.ray` has noted about its rows in the metadata is not true of the result.
    """
    names = [name for name, _ in new]
    kept = [i for i, name in enumerate(batch.schema.names) if name not in names]
    fields = [batch.schema.field(i) for i in kept]
    fields += [pa.field(name, column.type) for name, column in new]
    columns = [batch.column(i) for i in kept] + [column for _, column in new]
    notes = batch.schema.metadata or {}
    kept_notes = {key: note for key, note in notes.items() if not key.startswith(b"ctru.")}
    schema = pa.schema(fields, kept_notes or None)
    return type(batch).from_arrays(columns, schema=schema)
