"""What works, and what is refused, in a process that was forked."""

import hashlib
import mmap
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyarrow as pa
import pytest
from conftest import engine, key_pairs

import ctru
import ctru.arrow

SEEDS = {"seed": bytes(32), "context": "forks"}


def in_child(function):
    """Returns the result of a function in a fork of this process, which has a minute for it."""
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)

    def child():
        try:
            sender.send(function())
        except Exception as error:
            sender.send(error)

    process = context.Process(target=child)
    process.start()
    try:
        assert receiver.poll(60), "the child hangs"
        result = receiver.recv()
    finally:
        process.kill()
        process.join()
    if isinstance(result, Exception):
        raise result
    return result


def test_an_engine_is_refused():
    run = engine()
    public, private = key_pairs()
    _, ciphertexts = run.encapsulate(public)
    for call in (
        lambda: run.generate(1),
        lambda: run.encapsulate(public),
        lambda: run.decapsulate(private, ciphertexts),
    ):
        with pytest.raises(RuntimeError, match="fork"):
            in_child(call)


def test_a_fork_with_the_same_number():
    """The first process of a container has the number 1. If it makes another container, the first
    process in there is a fork of it with the same number, which no handler of forks has seen."""
    code = """
import ctypes, os, signal, sys
import ctru

def clone():
    new_processes, x86_64 = 0x20000000, 56
    return ctypes.PyDLL(None).syscall(x86_64, new_processes | signal.SIGCHLD, 0, 0, 0, 0)

def end_as(child):
    sys.exit(7) if child < 0 else os._exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))

if (first := clone()) != 0:
    end_as(first)
engine = ctru.Engine("761", "cpu", threads=2)
out = tuple(bytearray(64 * size) for size in (1158, 1571))
engine.generate(64, out=out)
if (second := clone()) != 0:
    end_as(second)
try:
    engine.generate(64, out=out)
except RuntimeError as error:
    del engine
    os._exit(0 if os.getpid() == 1 and "fork" in str(error) and any(out[1]) else 1)
os._exit(2)
"""
    done = subprocess.run([sys.executable, "-c", code], timeout=60, check=False)
    if done.returncode == 7:
        pytest.skip("the system gives this process no PID namespace")
    assert done.returncode == 0


def test_a_new_engine_works():
    public, private = key_pairs()
    expected = engine().encapsulate(public, **SEEDS)

    def child():
        run = ctru.Engine("761", "cpu", threads=2)
        secrets, ciphertexts = run.encapsulate(public, **SEEDS)
        assert (run.decapsulate(private, ciphertexts) == secrets).all()
        return secrets, ciphertexts

    for got, wanted in zip(in_child(child), expected, strict=True):
        assert (got == wanted).all()


def test_an_engine_of_the_parent_can_be_dropped():
    held = [ctru.Engine("761", "cpu", threads=2)]
    public, _ = key_pairs()
    held[0].encapsulate(public)
    assert in_child(lambda: held.clear() or len(held)) == 0
    assert held[0].encapsulate(public)


def test_single_operations_work_and_have_randomness_of_their_own():
    private = ctru.PrivateKey.generate("761")
    public = private.public_key()

    def child():
        secret, ciphertext = public.encapsulate()
        assert private.decapsulate(ciphertext) == secret
        return secret, ctru.PrivateKey.generate("761").to_bytes()

    results = [in_child(child), in_child(child), child()]
    assert len({secret for secret, _ in results}) == 3
    assert len({key for _, key in results}) == 3


def test_record_batches_and_digests_work():
    """The digest hashes so many bytes on several threads."""
    rows = np.arange(20_000, dtype="<u8")
    column = np.random.default_rng(1).integers(0, 256, (20_000, 1000), dtype=np.uint8)
    batch = pa.record_batch({"row": pa.array(range(100), pa.uint64())})

    def work():
        keys = ctru.arrow.generate(batch, device="cpu", **SEEDS)
        return ctru._ctru.digest(rows.tobytes(), [column]), ctru.arrow.digest(keys, ["public_key"])

    expected = work()
    assert in_child(work) == expected
    hashes = (
        hashlib.sha256(rows[i : i + 1].tobytes() + column[i].tobytes()) for i in range(20_000)
    )
    total = sum(int.from_bytes(h.digest(), "big") for h in hashes) % 2**256
    assert int.from_bytes(expected[0], "big") == total


def test_arrays_that_a_thread_of_the_parent_uses_are_free():
    """No thread computes in the child, so no array is in use there."""
    run = ctru.Engine("1277", "cpu", threads=1)
    out = run.generate(6000)
    begun = threading.Event()

    def batch():
        begun.set()
        run.generate(6000, out=out)

    def child():
        own = ctru.Engine("1277", "cpu", threads=1)
        own.generate(8, out=(out[0][:8], out[1][:8]))
        return True

    rounds = 0
    with ThreadPoolExecutor(1) as pool:
        # On a busy machine, a batch may end before this thread goes on.
        for _ in range(20):
            begun.clear()
            done = pool.submit(batch)
            begun.wait()
            while not done.done():
                assert in_child(child)
                rounds += 1
            done.result()
            if rounds > 0:
                break
    assert rounds > 0


def test_a_fork_in_a_batch_ends_it_in_the_child():
    """A handler of a signal, which runs between two chunks, can fork. The child does not wipe
    results in memory that it shares with the parent."""
    run = ctru.Engine("653", "cpu", threads=1)
    expected = run.generate(50_000, **SEEDS)
    shared = [mmap.mmap(-1, part.nbytes) for part in expected]
    out = tuple(
        np.frombuffer(memory, np.uint8).reshape(part.shape)
        for memory, part in zip(shared, expected, strict=True)
    )
    parent = os.getpid()
    children = []
    before = signal.signal(signal.SIGALRM, lambda *_: children.append(os.fork()))
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    try:
        run.generate(50_000, out=out, **SEEDS)
        ended = os.getpid() == parent
    except RuntimeError as error:
        ended = os.getpid() != parent and "fork" in str(error)
    finally:
        if os.getpid() != parent:
            os._exit(0 if ended else 1)
        signal.signal(signal.SIGALRM, before)
    assert ended
    (child,) = children
    until = time.monotonic() + 60
    while (status := os.waitpid(child, os.WNOHANG)) == (0, 0) and time.monotonic() < until:
        time.sleep(0.01)
    if status == (0, 0):
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    assert status == (child, 0), "the child hangs or fails"
    assert all((got == wanted).all() for got, wanted in zip(out, expected, strict=True))
