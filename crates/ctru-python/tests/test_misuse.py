"""Ten thousand random calls of each scheme with wrong arguments: each returns or raises.

Nothing crashes."""

import random
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
import pyarrow as pa
import pytest
from conftest import engine, key_pairs
from test_dlpack import Legacy, Tensor, Versioned

import ctru

CALLS = 10_000
SNTRUP = [set for set in ctru.SETS if set.startswith("sntrup")]
ALLOWED = (TypeError, ValueError, OverflowError, MemoryError, BufferError, ctru.DeviceError)


class Liar:
    """An object whose special methods return nonsense."""

    def __init__(self, value):
        self.value = value

    def __dlpack_device__(self):
        return self.value

    def __dlpack__(self, **_):
        return self.value

    def __arrow_c_array__(self, *_):
        if self.value is None:
            raise ValueError("no array here")
        return self.value

    def __index__(self):
        return self.value


#: Fields of a tensor that are wrong in a way that can be seen.
WRONG = {
    "shape": [None, [-1, 32], [4, 3], [2**62, 2**62]],
    "strides": [[1, 4], [0, 0], [-32, 1]],
    "ndim": [-1, 0, 3, 2**31 - 1],
    "data": [None],
    "bits": [1, 16],
    "device_type": [0, 2, 13],
    "flags": [0, 1, 2, 3],
    "major": [0, 2],
}


def sizes(set):
    """Returns the bytes of a ciphertext, a public and a private key."""
    known = ctru.parameters(set)
    return known.ciphertext_bytes, known.public_key_bytes, known.private_key_bytes


def tensor(rng, set):
    """Returns a DLPack tensor that is often wrong."""
    layout = rng.choice([Versioned, Legacy])
    names = rng.sample(sorted(WRONG), rng.randint(0, 2))
    rows = np.zeros((4, rng.choice([32, *sizes(set)])), np.uint8)
    return Tensor(rows, layout, **{name: rng.choice(WRONG[name]) for name in names})


def arguments(rng, set):
    """Returns a random object, among them arrays that are nearly right."""
    public, private = key_pairs(set)
    ciphertext, public_key, private_key = sizes(set)
    size = rng.choice([0, 1, 31, 32, 63, 64, *sizes(set), 2 * ciphertext, 3 * public_key])
    content = rng.randbytes(size)
    rows = rng.randint(0, 4)
    wide = [(rows, public_key), (rows, private_key), (rows, ciphertext), (rows, 32)]
    shape = rng.choice([*wide, (public_key,), (3, 5, 7)])
    dtype = rng.choice([np.uint8, np.uint8, np.int8, np.uint16, np.float64, object])
    made = np.zeros(shape, dtype=dtype)
    return rng.choice(
        [
            lambda: content,
            lambda: bytearray(content),
            lambda: memoryview(content),
            lambda: memoryview(bytearray(content))[:: rng.choice([1, 2, -1])],
            lambda: made,
            lambda: made.T,
            lambda: made[..., ::2],
            lambda: public[: rng.randint(0, 64)],
            lambda: private[: rng.randint(0, 64)],
            lambda: public[:, ::-1],
            lambda: pa.array([content, None] if rng.random() < 0.5 else [content], pa.binary()),
            lambda: pa.array([bytes(32), None][: rng.randint(0, 2)], pa.binary(32)),
            lambda: pa.py_buffer(content),
            lambda: ctru.PublicKey.from_bytes(set, public[0].tobytes()),
            lambda: ctru.PrivateKey.from_bytes(set, private[0].tobytes()),
            lambda: (made, bytearray(size)),
            lambda: (bytearray(size), made),
            lambda: Liar(rng.choice([None, 3, "x", (1, 0), (2, 0), (1,), (None, None), -5])),
            lambda: tensor(rng, set),
            lambda: np.float64(3.5),
            lambda: None,
            lambda: rng.choice([-1, 0, 1, 2, 2**40, 2**63, 2**64, 2**100, 1.5, True]),
            lambda: rng.choice(["", set, "cpu", "numpy", "bytes", "arrow", "cuda:7", "\0", "é"]),
            lambda: [content],
            lambda: {"a": content},
            lambda: type,
            lambda: ctru.Engine,
        ]
    )()


def calls(rng, run, set):
    public, private = key_pairs(set)
    names = rng.choice(
        [
            (run.generate, 1, ["seed", "context", "first", "kind", "out"]),
            (run.encapsulate, 1, ["count", "seed", "context", "first", "out"]),
            (run.decapsulate, 2, ["out"]),
            (ctru.PublicKey.from_bytes, 2, ["encoding"]),
            (ctru.PrivateKey.from_bytes, 2, ["encoding"]),
            (ctru.PrivateKey.from_seed, 2, ["encoding"]),
            (ctru.PrivateKey.from_vector_seeds, 2, ["encoding"]),
            (ctru.HybridPublicKey.from_bytes, 2, []),
            (ctru.HybridPrivateKey.from_bytes, 2, []),
            (ctru.parameters, 1, ["encoding"]),
            (ctru.PrivateKey.from_bytes(set, private[0].tobytes()).decapsulate, 1, []),
            (ctru.Engine, 2, ["encoding", "threads"]),
            (ctru._ctru.digest, 2, []),
        ]
    )
    function, positions, options = names
    given = [arguments(rng, set) for _ in range(positions)]
    if function == run.generate and isinstance(given[0], int) and given[0] > 100:
        # Memory for so many rows may exist.
        given[0] = rng.choice([-given[0], 2**63, 2**100])
    if function == ctru.Engine:
        # Starting threads and opening a GPU take long.
        given = [rng.choice([set, "7", None, 3]), rng.choice(["gpu", "cuda:-1", 3, None])]
    if rng.random() < 0.3 and positions > 1:
        given[0] = rng.choice([set, private, public])
    if rng.random() < 0.02:
        given = given[:-1]
    chosen = {name: arguments(rng, set) for name in options if rng.random() < 0.3}
    if isinstance(chosen.get("count"), int) and chosen["count"] > 100:
        chosen["count"] = 100
    return function, given, chosen


def misuse(sets, seed):
    rng = random.Random(seed)
    refused = 0
    for number in range(CALLS // 4):
        set = sets[number % len(sets)]
        function, given, chosen = calls(rng, engine(set), set)
        try:
            function(*given, **chosen)
        except ALLOWED:
            refused += 1
    return refused


@pytest.mark.parametrize("sets", [["761"], SNTRUP], ids=["CTRU-Prime", "NTRU Prime"])
def test_random_misuse(sets):
    with ThreadPoolExecutor(4) as pool:
        refused = sum(pool.map(partial(misuse, sets), range(4)))
    assert refused > CALLS // 2
    for set in sets:
        public, private = key_pairs(set)
        secrets, ciphertexts = engine(set).encapsulate(public)
        assert (engine(set).decapsulate(private, ciphertexts) == secrets).all()
