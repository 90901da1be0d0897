"""Arrays that several batches use at a time, and results of batches that fail."""

import signal
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import numpy as np
import pyarrow as pa
import pytest
from conftest import engine, key_pairs, refused

import ctru

PUBLIC, PRIVATE, CIPHERTEXT, SECRET = 1158, 1571, 952, 32
SEEDS = {"seed": bytes(32), "context": "memory"}


def until_refused(long_call, call, match):
    """Repeats a call in this thread while another thread repeats a long call, until this call is
    refused with a text. It must not be refused after the long call."""
    refusals = []

    def long_calls():
        while not refusals:
            # Between two long calls, this call can begin first.
            with suppress(ValueError):
                long_call()

    with ThreadPoolExecutor(1) as pool:
        other = pool.submit(long_calls)
        while not refusals and not other.done():
            try:
                call()
            except ValueError as error:
                refusals.append(str(error))
        other.result()
    assert match in refusals[0]
    call()


@pytest.fixture(scope="module")
def many():
    """Returns an engine whose batches take some tenths of a second, with the keys of one."""
    run = ctru.Engine("761", "cpu", threads=1)
    return run, *run.generate(12_000)


def test_results_of_two_batches_share_no_memory(many):
    run, public, private = many
    few = engine()
    own = (np.empty((4, PUBLIC), np.uint8), private.reshape(-1)[: 4 * PRIVATE].reshape(4, -1))
    until_refused(
        lambda: run.generate(len(public), out=(public, private)),
        lambda: few.generate(4, out=own),
        "out[1] shares memory with an array that another call writes",
    )


def test_arrays_that_a_batch_writes_are_not_read(many):
    run, public, private = many
    until_refused(
        lambda: run.generate(len(public), out=(public, private)),
        lambda: engine().encapsulate(public[-4:]),
        "public_keys shares memory with an array that another call writes",
    )
    rows = np.arange(len(private), dtype="<u8")
    until_refused(
        lambda: run.generate(len(public), out=(public, private)),
        lambda: ctru._ctru.digest(rows.tobytes(), [private]),
        "columns[0] shares memory with an array that another call writes",
    )


def test_arrays_that_a_batch_writes_are_not_read_by_single_operations(many):
    run, public, private = many
    one, seed = ctru.PrivateKey.generate("761"), private.reshape(-1)[:SECRET]
    received = private.reshape(-1)[:CIPHERTEXT]
    for name, call in [
        ("data", lambda: ctru.PublicKey.from_bytes("761", public[0])),
        ("data", lambda: ctru.PrivateKey.from_bytes("761", private[0])),
        ("seed", lambda: ctru.PrivateKey.from_seed("761", private.reshape(-1)[:32])),
        ("pair", lambda: ctru.PrivateKey.from_vector_seeds("761", private.reshape(-1)[:64])),
        ("ciphertext", lambda: one.decapsulate(received)),
        ("seed", lambda: engine().generate(1, seed=seed, context="memory")),
        ("context", lambda: engine().generate(1, seed=bytes(32), context=seed)),
    ]:
        until_refused(
            lambda: run.generate(len(public), out=(public, private)),
            call,
            f"{name} shares memory with an array that another call writes",
        )


def test_arrays_that_a_batch_reads_are_not_written(many):
    run, public, _ = many
    keys = public.copy()
    over = keys.reshape(-1)[: 4 * SECRET].reshape(4, SECRET)
    few, _ = key_pairs()
    ciphertexts = np.empty((4, CIPHERTEXT), np.uint8)

    def call():
        engine().encapsulate(few[:4], out=(over, ciphertexts))
        over[:] = public.reshape(-1)[: 4 * SECRET].reshape(4, SECRET)

    until_refused(
        lambda: run.encapsulate(keys),
        call,
        "out[0] shares memory with an array that another call reads",
    )


def test_several_batches_read_the_same_arrays(many):
    run, public, _ = many
    expected = engine().encapsulate(public[:4], **SEEDS)
    rounds = 0
    with ThreadPoolExecutor(1) as pool:
        other = pool.submit(lambda: run.encapsulate(public))
        while not other.done():
            got = engine().encapsulate(public[:4], **SEEDS)
            assert (got[1] == expected[1]).all()
            rounds += 1
        other.result()
    assert rounds > 0


def test_one_object_as_several_arguments():
    run = engine()
    rows = np.zeros((4, SECRET), np.uint8)
    keys = bytearray(4 * PRIVATE)
    with pytest.raises(ValueError, match=r"out\[1\] shares memory with out\[0\]"):
        run.generate(4, out=(memoryview(keys)[: 4 * PUBLIC], keys))
    _, private = key_pairs()
    same = private[:4].copy()
    over = same.reshape(-1)[: 4 * SECRET].reshape(4, SECRET)
    ciphertexts = run.encapsulate(key_pairs()[0][:4])[1]
    with pytest.raises(ValueError, match="out shares memory with private_keys"):
        run.decapsulate(same, ciphertexts, out=over)
    # Arrays side by side share nothing, and neither do arrays without bytes.
    both = np.zeros(4 * (SECRET + CIPHERTEXT), np.uint8)
    secrets, ciphertexts = both[: 4 * SECRET], both[4 * SECRET :]
    out = (secrets.reshape(4, SECRET), ciphertexts.reshape(4, CIPHERTEXT))
    run.encapsulate(key_pairs()[0][:4], out=out)
    run.encapsulate(key_pairs()[0][:0], out=(rows[:0], np.empty((0, CIPHERTEXT), np.uint8)))


def test_a_handler_of_a_signal_finds_the_arrays_in_use(many):
    run, _, _ = many
    out = (np.empty((40_000, PUBLIC), np.uint8), np.empty((40_000, PRIVATE), np.uint8))
    errors = []

    def handle(*_):
        with pytest.raises(ValueError, match="another call writes") as caught:
            engine().generate(4, out=(out[0][:4], out[1][:4]))
        errors.append(caught.value)

    before = signal.signal(signal.SIGALRM, handle)
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    try:
        run.generate(40_000, out=out, **SEEDS)
    finally:
        signal.signal(signal.SIGALRM, before)
    assert len(errors) == 1
    assert (out[0][:4] == run.generate(4, **SEEDS)[0]).all()


def test_arrays_are_free_after_errors():
    run = engine()
    public, private = (rows.copy() for rows in key_pairs())
    secrets, ciphertexts = run.encapsulate(public)
    public[9] = 0
    for _ in range(3):
        refused(ctru.InvalidKey, None, run.encapsulate, public, out=(secrets, ciphertexts))
        with pytest.raises(ValueError, match="shares memory"):
            run.decapsulate(private, ciphertexts, out=private.reshape(-1)[: 64 * SECRET].data)
    run.generate(len(public), out=(public, private))
    run.encapsulate(public, out=(secrets, ciphertexts))


def test_results_are_wiped_after_errors():
    run = engine("761", threads=1)
    public, private = run.generate(40_000)
    secrets = np.full((40_000, SECRET), 7, np.uint8)
    ciphertexts = np.full((40_000, CIPHERTEXT), 7, np.uint8)
    # Arguments that are refused leave the arrays as they are.
    refused(ValueError, "rows", run.encapsulate, public[:-1], out=(secrets, ciphertexts))
    assert (secrets == 7).all()
    assert (ciphertexts == 7).all()
    public[39_999] = 0
    refused(ctru.InvalidKey, "39999", run.encapsulate, public, out=(secrets, ciphertexts))
    assert not secrets.any()
    assert not ciphertexts.any()
    public[39_999] = public[0]
    run.encapsulate(public, out=(secrets, ciphertexts))
    private[39_999] = 255
    refused(ctru.InvalidKey, "39999", run.decapsulate, private, ciphertexts, out=secrets)
    assert not secrets.any()
    # A package that refuses the new array, after the batch.
    made = []

    class Tensor:
        def __array_namespace__(self):
            return Tensor

        def __dlpack_device__(self):
            return (1, 0)

        def __dlpack__(self, **options):
            return public[:64].__dlpack__(**options)

        @staticmethod
        def from_dlpack(rows):
            made.append(rows)
            raise OSError("no tensor")

    refused(OSError, "no tensor", run.encapsulate, Tensor())
    assert made
    assert not made[0].any()


def test_inputs_that_change_do_no_harm():
    """The documentation forbids it. Results of rows that change are wrong, or such a row is
    refused. The results of all other rows are right, and nothing crashes."""
    run = engine()
    public, private = run.generate(2000)
    secrets, ciphertexts = run.encapsulate(public)
    changing = [rows.copy() for rows in (public, private, ciphertexts)]
    wrong, refused = [], []

    def batches():
        for _ in range(20):
            got = run.decapsulate(private, changing[2])
            assert (got[1000:] == secrets[1000:]).all()
            wrong.append((got != secrets).any())
            for call in (
                lambda: run.encapsulate(changing[0]),
                lambda: run.decapsulate(changing[1], ciphertexts),
            ):
                try:
                    call()
                except ctru.InvalidKey as error:
                    refused.append(str(error).split()[3])

    with ThreadPoolExecutor(1) as pool:
        other = pool.submit(batches)
        rng = np.random.default_rng(1)
        while not other.done():
            for rows in changing:
                rows[rng.integers(1000)] = rng.integers(256)
        other.result()
    assert any(wrong)
    assert set(refused) == {"public_keys", "private_keys"}
    # The engine works as before.
    assert (run.decapsulate(private, ciphertexts) == secrets).all()


def test_an_arrow_array_is_taken_once():
    """A consumer moves an array out of its capsule, so a second one finds nothing there."""
    public, _ = key_pairs()
    rows = pa.FixedSizeBinaryArray.from_buffers(
        pa.binary(PUBLIC), len(public), [None, pa.py_buffer(public.tobytes())]
    )
    capsules = rows.__arrow_c_array__()

    class Same:
        def __arrow_c_array__(self, requested_schema=None):
            return capsules

    expected = engine().encapsulate(public, **SEEDS)[1]
    got = engine().encapsulate(Same(), **SEEDS)[1]
    assert b"".join(got.to_pylist()) == expected.tobytes()
    refused(ValueError, "released", engine().encapsulate, Same())
