"""Batches: their results, wherever they are cut, and on several threads."""

import hashlib
import itertools
import json
import os
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from conftest import ROOT, SETS, engine, key_pairs, records, refused, vectors
from hypothesis import given, settings
from hypothesis import strategies as st

import ctru

SEED = bytes(range(32))


@pytest.mark.parametrize(("set", "encoding"), SETS)
def test_vectors(set, encoding):
    found = vectors(set, encoding)

    def column(name):
        return np.array([list(record[name]) for record in found], dtype=np.uint8)

    run = engine(set, encoding)
    assert (run.decapsulate(column("sk"), column("ct")) == column("ss")).all()
    assert (run.decapsulate(column("sk"), column("bad_ct")) == column("bad_ss")).all()
    secrets, ciphertexts = run.encapsulate(column("pk"))
    assert (run.decapsulate(column("sk"), ciphertexts) == secrets).all()
    for record in found:
        assert run.decapsulate(record["sk"], record["ct"]) == record["ss"]


def test_derived_seeds_of_keys():
    for record in records(ROOT / "tests/vectors", "seeds.jsonl"):
        if record["op"] != "keygen":
            continue
        set, encoding = str(record["n"]), record["pk_encoding"]
        public, private = engine(set, encoding).generate(
            1,
            seed=record["master"],
            context=record["context"],
            first=int.from_bytes(record["row"], "little"),
            kind="bytes",
        )
        expected = ctru.PrivateKey.from_vector_seeds(set, record["seed"], encoding=encoding)
        assert private == expected.to_bytes()
        assert public == expected.public_key().to_bytes()


def test_bytes_are_those_of_the_engine_in_rust():
    """A test in `tests/suites` compares the same hashes with its own batches."""
    path = ROOT / "tests/suites/tests/kem/batches.jsonl"
    for line in path.read_text().splitlines():
        record = json.loads(line)
        run = engine(str(record["n"]), record["pk_encoding"])
        seeds = {"seed": bytes.fromhex(record["master"]), "context": record["context"]}
        parts = [[], [], [], []]
        first, count = record["first"], record["count"]
        for start in range(0, count, 97):
            here = {**seeds, "first": first + start}
            public, private = run.generate(min(97, count - start), kind="bytes", **here)
            secrets, ciphertexts = run.encapsulate(public, **here)
            for part, piece in zip(parts, (public, private, ciphertexts, secrets), strict=True):
                part.append(piece)
        content = b"".join(b"".join(part) for part in parts)
        assert hashlib.sha3_256(content).hexdigest() == record["sha3_256"]


@settings(max_examples=60, deadline=None)
@given(
    cuts=st.lists(st.integers(0, 40), max_size=6),
    first=st.integers(0, 2**64 - 41),
    context=st.binary(max_size=32),
)
def test_batches_can_be_cut_anywhere(cuts, first, context):
    run = engine()
    whole = run.generate(40, seed=SEED, context=context, first=first)
    sent = run.encapsulate(whole[0], seed=SEED, context=context, first=first)
    edges = sorted({0, 40, *cuts})
    for start, end in itertools.pairwise(edges):
        here = {"seed": SEED, "context": context, "first": first + start}
        keys = run.generate(end - start, **here)
        pieces = (*keys, *run.encapsulate(keys[0], **here))
        for piece, all_rows in zip(pieces, (*whole, *sent), strict=True):
            assert (piece == all_rows[start:end]).all()


def test_seeds_count():
    run = engine()
    keys = run.generate(2, seed=SEED, context="a")[0]

    def secrets(**seeds):
        return run.encapsulate(keys, **seeds)[0].tobytes()

    seen = [
        secrets(seed=SEED, context="a"),
        secrets(seed=SEED, context="b"),
        secrets(seed=SEED, context="a", first=2),
        secrets(seed=bytes(32), context="a"),
        secrets(),
        secrets(),
    ]
    assert len({*seen}) == len(seen)
    assert secrets(seed=bytearray(SEED), context=b"a") == seen[0]
    assert secrets(first=0) not in seen


def test_a_context_that_utf_8_does_not_have():
    """With replacements for its lone surrogates, two contexts would give the same secrets."""
    run = engine()
    for context in ("\udcff", "\udcfe", "orders \ud800"):
        seeds = {"seed": SEED, "context": context}
        refused(UnicodeEncodeError, "surrogates", run.generate, 1, **seeds)
        refused(UnicodeEncodeError, "surrogates", run.encapsulate, key_pairs()[0], **seeds)
    text = run.generate(1, seed=SEED, context="naïve", kind="bytes")
    assert text == run.generate(1, seed=SEED, context="naïve".encode(), kind="bytes")


def test_a_single_key_serves_a_batch():
    run = engine()
    public, private = key_pairs()
    as_object = ctru.PublicKey.from_bytes("761", public[3].tobytes())
    of_private = ctru.PrivateKey.from_bytes("761", private[3].tobytes())
    results = []
    for key in (public[3], public[3:4], as_object):
        secrets, ciphertexts = run.encapsulate(key, count=20, seed=SEED, context="one")
        assert secrets.shape == (20, 32)
        assert ciphertexts.shape == (20, 952)
        for own in (private[3], private[3:4], of_private):
            assert (run.decapsulate(own, ciphertexts) == secrets).all()
        results.append(ciphertexts.tobytes())
    flat = run.encapsulate(public[3].tobytes(), count=20, seed=SEED, context="one")
    assert [type(part) for part in flat] == [bytes, bytes]
    assert {*results, flat[1]} == {flat[1]}
    assert run.encapsulate(public[3])[0].shape == (1, 32)
    assert run.encapsulate(public[3], count=0)[0].shape == (0, 32)
    assert run.encapsulate(public[:0])[1].shape == (0, 952)
    other = ctru.PublicKey.from_bytes("761", public[4].tobytes())
    assert other != as_object
    for wrong in (
        ctru.PrivateKey.generate("653").public_key(),
        ctru.PrivateKey.generate("761", encoding="packed13").public_key(),
    ):
        refused(ValueError, "public_keys is a key of", run.encapsulate, wrong, count=2)
    with pytest.raises(ValueError, match="private_keys is a key of"):
        run.decapsulate(ctru.PrivateKey.generate("1277"), ciphertexts)


@pytest.mark.parametrize("row", [0, 7, 8, 63])
def test_the_first_bad_row_is_named(row):
    run = engine()
    public, private = (array.copy() for array in key_pairs())
    _, ciphertexts = run.encapsulate(public)
    public[row] = 0
    public[63] = 0xFF
    refused(ctru.InvalidKey, f"row {row} of public_keys", run.encapsulate, public)
    private[row, 0] = 0xFF
    private[63, 1] = 0xFF
    refused(ctru.InvalidKey, f"row {row} of private_keys", run.decapsulate, private, ciphertexts)


def test_bad_rows_are_named_across_chunks():
    """One thread looks at signals after 16,384 operations, so this batch has three chunks."""
    run = engine("653", threads=1)
    public, _ = run.generate(40_000)
    public[39_000] = 0
    refused(ctru.InvalidKey, "row 39000 of", run.encapsulate, public)
    public[20_000] = 0
    refused(ctru.InvalidKey, "row 20000 of", run.encapsulate, public)


def test_threads_share_an_engine():
    run = engine()
    public, private = key_pairs()
    expected = run.encapsulate(public, seed=SEED, context="threads")

    def work(_):
        for _ in range(10):
            got = run.encapsulate(public, seed=SEED, context="threads")
            assert (got[0] == expected[0]).all()
            assert (got[1] == expected[1]).all()
            assert (run.decapsulate(private, got[1]) == got[0]).all()
        return True

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(8)))


def test_other_threads_run_during_a_batch():
    ticks = []
    done = threading.Event()

    def tick():
        while not done.is_set():
            ticks.append(time.monotonic())
            time.sleep(0.001)

    thread = threading.Thread(target=tick)
    thread.start()
    start = time.monotonic()
    engine("1277", threads=1).generate(3000)
    end = time.monotonic()
    done.set()
    thread.join()
    assert sum(start < at < end for at in ticks) > 5


def test_a_keyboard_interrupt_ends_a_batch():
    run = engine(threads=1)
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    start = time.monotonic()

    def batch():
        timer.start()
        run.generate(3_000_000)

    refused(KeyboardInterrupt, None, batch)
    timer.join()
    assert time.monotonic() - start < 15


def test_engines():
    run = ctru.Engine("1277", "cpu", encoding="packed13", threads=3)
    assert (run.set, run.encoding, run.device, run.threads) == ("1277", "packed13", "cpu", 3)
    assert ctru.Engine("653").device in ("cpu", "cuda:0")
    for device in ("gpu", "cuda:", "cuda:x", "cuda:-1", "", "CPU"):
        refused(ValueError, "device", ctru.Engine, "761", device)
    for threads in (0, -1, 4097, 2**70):
        refused(ValueError, "threads", ctru.Engine, "761", "cpu", threads=threads)
    refused(TypeError, "threads", ctru.Engine, "761", "cpu", threads=1.5)
    refused(ctru.DeviceError, None, ctru.Engine, "761", "cuda:4000000000")
