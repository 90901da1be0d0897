"""Functions over record batches."""

import hashlib
import random

import pyarrow as pa
import pytest
from conftest import SETS, refused
from hypothesis import given, settings
from hypothesis import strategies as st

import ctru
import ctru.arrow

SEEDS = {"seed": bytes(range(32)), "context": "arrow", "device": "cpu"}


def numbered(numbers):
    return pa.record_batch({"row": pa.array(numbers, pa.uint64())})


@pytest.mark.parametrize(("set", "encoding"), SETS)
def test_round_trip(set, encoding):
    options = {"set": set, "encoding": encoding, "device": "cpu"}
    batch = numbered(range(5)).append_column("name", pa.array(list("abcde")))
    keys = ctru.arrow.generate(batch, **options)
    assert keys.schema.names == ["row", "name", "public_key", "private_key"]
    sent = ctru.arrow.encapsulate(keys, **options)
    assert sent.schema.names == [*keys.schema.names, "ciphertext", "shared_secret"]
    received = ctru.arrow.decapsulate(sent, shared_secret="received", **options)
    assert received.column("received") == sent.column("shared_secret")
    assert received.column("name") == batch.column("name")
    received.validate(full=True)


@settings(max_examples=40, deadline=None)
@given(numbers=st.lists(st.integers(0, 60) | st.sampled_from([2**64 - 1, 2**63]), max_size=20))
def test_a_row_has_the_same_result_in_every_batch(numbers):
    order = list(numbers)
    random.Random(1).shuffle(order)
    results = []
    for rows in (numbers, order):
        keys = ctru.arrow.generate(numbered(rows), **SEEDS)
        sent = ctru.arrow.encapsulate(keys, **SEEDS)
        results.append({row["row"]: row for row in sent.to_pylist()})
        again = ctru.arrow.decapsulate(
            sent.select(["row", "ciphertext"]), shared_secret="again", **SEEDS
        )
        assert again.column("again") == sent.column("shared_secret")
    assert results[0] == results[1]
    engine = ctru.Engine("761", "cpu")
    for number, row in list(results[0].items())[:3]:
        seeds = {"seed": SEEDS["seed"], "context": "arrow", "first": number}
        public, private = engine.generate(1, kind="bytes", **seeds)
        assert (row["public_key"], row["private_key"]) == (public, private)
        assert engine.encapsulate(public, **seeds) == (row["shared_secret"], row["ciphertext"])


@pytest.mark.parametrize("kind", [pa.binary(), pa.large_binary()])
def test_columns_of_any_length(kind):
    keys = ctru.arrow.generate(numbered(range(4)), **SEEDS)
    columns = [keys.column(0), *(keys.column(i).cast(kind) for i in (1, 2))]
    loose = pa.RecordBatch.from_arrays(columns, keys.schema.names)
    sent = ctru.arrow.encapsulate(loose, **SEEDS)
    assert [sent.schema.field(name).type for name in ("ciphertext", "shared_secret")] == [kind] * 2
    fixed = ctru.arrow.encapsulate(keys, **SEEDS)
    for name in ("ciphertext", "shared_secret"):
        assert sent.column(name).to_pylist() == fixed.column(name).to_pylist()
    received = ctru.arrow.decapsulate(sent, shared_secret="received", device="cpu")
    assert received.column("received") == sent.column("shared_secret")
    assert ctru.arrow.digest(sent, ["ciphertext"]) == ctru.arrow.digest(fixed, ["ciphertext"])


def test_metadata():
    """Notes of a job are about the rows that it has read, and all others are kept."""
    batch = numbered(range(2))
    assert ctru.arrow.generate(batch, **SEEDS).schema.metadata is None
    notes = {b"ctru.digest": b"00", b"ctru.seed": b"00", b"pandas": b"{}"}
    keys = ctru.arrow.generate(batch.replace_schema_metadata(notes), **SEEDS)
    assert keys.schema.metadata == {b"pandas": b"{}"}


class Spy:
    """An engine whose secrets are kept."""

    def __init__(self):
        self.engine = ctru.Engine("761", "cpu")
        self.made = []
        #: The first rows of batches that are stopped.
        self.stopped = ()

    def _keep(self, results, secrets, first=None):
        self.made.append(results[secrets])
        if first in self.stopped:
            raise KeyboardInterrupt
        return results

    def generate(self, *arguments, **options):
        return self._keep(self.engine.generate(*arguments, **options), 1, options.get("first"))

    def encapsulate(self, *arguments, **options):
        return self._keep(self.engine.encapsulate(*arguments, **options), 0)

    def decapsulate(self, *arguments):
        return self._keep([self.engine.decapsulate(*arguments)], 0)[0]

    def wiped(self):
        """Returns, for each array of secrets since the last call, whether it is wiped."""
        wiped = [not any(b"".join(array.to_pylist())) for array in self.made]
        self.made.clear()
        return wiped


@pytest.fixture
def spy(monkeypatch):
    spy = Spy()
    monkeypatch.setattr(ctru.arrow, "engine", lambda *_, **__: spy)
    return spy


@pytest.mark.parametrize("numbers", [[1, 2, 3], [1, 2, 3, 7, 8]])
def test_secrets_that_become_no_column_are_wiped(spy, numbers):
    rows = numbered(numbers)
    # One run becomes a column itself, and two are copied to one.
    copied = [False] if len(rows) == 3 else [True, True]
    wiped = [True] * len(copied)
    keys = ctru.arrow.generate(rows, **SEEDS)
    assert spy.wiped() == copied
    assert all(any(key) for key in keys.column("private_key").to_pylist())
    ctru.arrow.generate(rows, private_key=None, **SEEDS)
    assert spy.wiped() == wiped
    sent = ctru.arrow.encapsulate(keys, **SEEDS)
    assert spy.wiped() == copied
    assert all(any(secret) for secret in sent.column("shared_secret").to_pylist())
    ctru.arrow.encapsulate(keys, shared_secret=None, **SEEDS)
    assert spy.wiped() == wiped
    received = ctru.arrow.decapsulate(sent, shared_secret="received", **SEEDS)
    assert received.column("received") == sent.column("shared_secret")
    # Each run makes private keys, then shared secrets.
    assert spy.wiped() == [is_wiped for end in copied for is_wiped in (True, end)]
    empty = rows.slice(0, 0)
    assert ctru.arrow.generate(empty, private_key=None, **SEEDS).num_rows == 0


def test_secrets_are_wiped_after_an_error(spy, monkeypatch):
    rows = numbered([1, 2, 7])
    keys = ctru.arrow.generate(rows, **SEEDS)
    sent = ctru.arrow.encapsulate(keys, **SEEDS)
    spy.made.clear()
    public = keys.column("public_key")
    bad = pa.array([*public[:2].to_pylist(), bytes(1158)], public.type)
    with pytest.raises(ctru.InvalidKey, match="row 2 of the column 'public_key'"):
        ctru.arrow.encapsulate(keys.set_column(1, "public_key", bad), **SEEDS)
    assert spy.wiped() == [True]

    def full(*_):
        raise MemoryError

    monkeypatch.setattr(ctru.arrow, "_with", full)
    one = [batch.slice(0, 2) for batch in (rows, keys, sent)]
    operations = [ctru.arrow.generate, ctru.arrow.encapsulate, ctru.arrow.decapsulate]
    for operation, batch in zip(operations, one, strict=True):
        refused(MemoryError, None, operation, batch, **SEEDS)
        assert {*spy.wiped()} == {True}
    # The array of a batch that is stopped is wiped by the engine itself, which this one is not.
    spy.stopped = (7,)
    refused(KeyboardInterrupt, None, ctru.arrow.generate, rows, **SEEDS)
    assert spy.wiped() == [True, False]


def test_batches_that_are_slices():
    keys = ctru.arrow.generate(numbered(range(20)), **SEEDS)
    sent = ctru.arrow.encapsulate(keys, **SEEDS)
    part = ctru.arrow.encapsulate(keys.slice(7, 9), **SEEDS)
    assert part == sent.slice(7, 9)
    columns = ["ciphertext", "shared_secret"]
    parts = [sent.slice(0, 3), sent.slice(3, 0), sent.slice(3)]
    total = sum(ctru.arrow.digest(part, columns) for part in parts) % 2**256
    assert total == ctru.arrow.digest(sent, columns)


def test_digest():
    sent = ctru.arrow.encapsulate(ctru.arrow.generate(numbered([3, 9, 2**63]), **SEEDS), **SEEDS)
    total = 0
    for row in sent.to_pylist():
        content = row["row"].to_bytes(8, "little") + row["ciphertext"] + row["shared_secret"]
        total += int.from_bytes(hashlib.sha256(content).digest(), "big")
    assert ctru.arrow.digest(sent, ["ciphertext", "shared_secret"]) == total % 2**256
    assert ctru.arrow.digest(sent, ["shared_secret", "ciphertext"]) != total % 2**256
    assert ctru.arrow.digest(sent.slice(0, 0), ["ciphertext"]) == 0


def test_bad_batches():
    keys = ctru.arrow.generate(numbered(range(4)), **SEEDS)
    rows = keys.column("public_key").to_pylist()

    def with_keys(values, kind=None):
        return pa.RecordBatch.from_arrays(
            [keys.column("row"), pa.array(values, kind or pa.binary(1158))], ["row", "public_key"]
        )

    def bad(error, match, batch, **options):
        refused(error, match, ctru.arrow.encapsulate, batch, device="cpu", **options)

    wrong = [rows[0], rows[1], bytes(1158), rows[3]]
    bad(ctru.InvalidKey, "row 2 of the column 'public_key'", with_keys(wrong))
    seeds = {"seed": bytes(32), "context": "x"}
    bad(ctru.InvalidKey, "row 2 of the column 'public_key'", with_keys(wrong), **seeds)
    bad(ValueError, "row 1 of the column 'public_key' is null", with_keys([rows[0], None] * 2))
    bad(ValueError, "row 3 .* 7 bytes", with_keys([*rows[:3], b"1234567"], pa.binary()))
    bad(TypeError, "fixed_size_binary", with_keys([[1]] * 4, pa.list_(pa.int8())))
    bad(TypeError, "fixed_size_binary", with_keys([b"12"] * 4, pa.binary(2)))
    bad(ValueError, "0 columns 'key'", keys, public_key="key")
    bad(ValueError, "2 columns", keys.append_column("public_key", keys.column("public_key")))
    bad(ValueError, "context", keys, seed=bytes(32))
    bad(ValueError, "seed", keys, context="x")
    bad(ValueError, "lost", keys, shared_secret=None)
    bad(ValueError, "0 columns 'number'", keys, seed=bytes(32), context="x", row="number")
    negative = keys.set_column(0, "row", pa.array([-1, 0, 1, 2]))
    bad(ValueError, "2\\*\\*64", negative, **seeds)
    texts = keys.set_column(0, "row", pa.array(list("abcd")))
    bad(TypeError, "uint64", texts, **seeds)
    bad(TypeError, "RecordBatch", {"row": [1]})
    refused(ValueError, "lost", ctru.arrow.generate, numbered([1]), private_key=None)
    assert (
        ctru.arrow.encapsulate(keys, shared_secret=None, **SEEDS).schema.names[-1] == "ciphertext"
    )


def test_what_is_no_batch_and_what_is_no_name():
    rows, functions = numbered(range(2)), ctru.arrow
    keys = functions.generate(rows, **SEEDS)
    sent = functions.encapsulate(keys, **SEEDS)
    for wrong in (None, {"row": [1]}, rows.column("row")):
        for call in (functions.generate, functions.encapsulate, functions.decapsulate):
            refused(TypeError, "^batch is a .*, not a pyarrow.RecordBatch", call, wrong, **SEEDS)
        refused(TypeError, "^batch is a ", functions.digest, wrong, ["ciphertext"])
    for call, batch, name in (
        (functions.generate, rows, "public_key"),
        (functions.encapsulate, keys, "ciphertext"),
        (functions.decapsulate, sent, "shared_secret"),
    ):
        for wrong in (None, 1, b"name"):
            refused(TypeError, f"^{name} is a .*, not a str", call, batch, **{name: wrong}, **SEEDS)
    refused(TypeError, "^private_key is a int", functions.generate, rows, private_key=1)
    refused(TypeError, "name of a column", functions.encapsulate, keys, None, device="cpu")
    refused(TypeError, "^columns is a str", functions.digest, sent, "ciphertext")


def test_two_new_columns_with_one_name():
    rows = numbered(range(2))
    names = {"public_key": "a", "private_key": "a"}
    refused(ValueError, "public_key and private_key .*'a'", ctru.arrow.generate, rows, **names)
    keys = ctru.arrow.generate(rows, **SEEDS)
    names = {"ciphertext": "a", "shared_secret": "a"}
    refused(ValueError, "ciphertext and .*'a'", ctru.arrow.encapsulate, keys, **names)


def test_a_process_has_one_engine():
    assert ctru.arrow.engine("761", device="cpu") is ctru.arrow.engine("761", device="cpu")
    assert ctru.arrow.engine("761", device="cpu") is not ctru.arrow.engine("653", device="cpu")
