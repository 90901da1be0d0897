"""One operation at a time."""

import copy
import gc
import hashlib
import pickle

import pytest
from conftest import SETS, refused, vectors

import ctru


@pytest.mark.parametrize(("set", "encoding"), SETS)
def test_round_trip(set, encoding):
    sizes = ctru.parameters(set, encoding=encoding)
    private = ctru.PrivateKey.generate(set, encoding=encoding)
    public = private.public_key()
    secret, ciphertext = public.encapsulate()
    assert private.decapsulate(ciphertext) == secret
    assert [type(secret), type(ciphertext)] == [bytes, bytes]
    lengths = [len(public.to_bytes()), len(private.to_bytes()), len(ciphertext), len(secret)]
    assert lengths == [
        sizes.public_key_bytes,
        sizes.private_key_bytes,
        sizes.ciphertext_bytes,
        sizes.shared_secret_bytes,
    ]
    assert ctru.PublicKey.from_bytes(set, public.to_bytes(), encoding=encoding) == public
    again = ctru.PrivateKey.from_bytes(set, private.to_bytes(), encoding=encoding)
    assert again.to_bytes() == private.to_bytes()
    assert again.decapsulate(memoryview(ciphertext)) == secret
    seeded = ctru.PrivateKey.from_seed(set, private.seed(), encoding=encoding)
    assert seeded.to_bytes() == private.to_bytes()
    assert seeded.seed() == private.seed()
    assert (private.set, private.encoding, public.set, public.encoding) == (set, encoding) * 2
    assert public.encapsulate() != (secret, ciphertext)


@pytest.mark.parametrize(("set", "encoding"), SETS)
def test_vectors(set, encoding):
    for record in vectors(set, encoding):
        pair = record["keygen_seed"] + record.get("z", b"")
        private = ctru.PrivateKey.from_vector_seeds(set, pair, encoding=encoding)
        assert private.to_bytes() == record["sk"]
        assert private.public_key().to_bytes() == record["pk"]
        sent = private.public_key().encapsulate_deterministic(record["encaps_seed"])
        assert sent == (record["ss"], record["ct"])
        assert private.decapsulate(record["ct"]) == record["ss"]
        assert private.decapsulate(record["bad_ct"]) == record["bad_ss"]


@pytest.mark.parametrize(("set", "encoding"), SETS)
def test_seeds_are_bound_to_the_set(set, encoding):
    seed = bytes(range(32))
    name = f"CTRU-Prime-{set} key v1".encode()
    pair = seed if set.startswith("sntrup") else hashlib.shake_256(name + seed).digest(64)
    private = ctru.PrivateKey.from_seed(set, seed, encoding=encoding)
    expected = ctru.PrivateKey.from_vector_seeds(set, pair, encoding=encoding)
    assert private.to_bytes() == expected.to_bytes()
    assert private.seed() == seed


def test_parameters():
    sizes = ctru.parameters("761")
    assert (sizes.n, sizes.q, sizes.set, sizes.encoding) == (761, 4591, "761", "mixed-radix")
    assert (sizes.public_key_bytes, sizes.private_key_bytes) == (1158, 1571)
    assert (sizes.ciphertext_bytes, sizes.shared_secret_bytes) == (952, 32)
    assert ctru.parameters("1277", encoding="packed13").public_key_bytes == 2076
    refused(ValueError, "set", ctru.parameters, "762")
    refused(ValueError, "encoding", ctru.parameters, "761", encoding="base64")
    refused(TypeError, None, ctru.parameters, 761)
    with pytest.raises(AttributeError):
        sizes.n = 1


@pytest.mark.parametrize("kind", [ctru.PrivateKey, ctru.HybridPrivateKey])
def test_private_keys_stay_where_they_are(kind):
    private = kind.generate("761")
    for move in (pickle.dumps, copy.copy, copy.deepcopy):
        refused(TypeError, "private key", move, private)
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        refused(TypeError, None, pickle.dumps, {"key": private}, protocol)


def check_copies(key):
    """Checks copies of a public key. Returns its last pickle."""
    pickled = [pickle.dumps(key, protocol) for protocol in range(pickle.HIGHEST_PROTOCOL + 1)]
    for again in (copy.copy(key), copy.deepcopy({"key": key})["key"], *map(pickle.loads, pickled)):
        assert type(again) is type(key)
        assert again == key
        assert again.set == key.set
    return pickled[-1]


@pytest.mark.parametrize(("set", "encoding"), SETS)
def test_public_keys_can_be_copied(set, encoding):
    public = ctru.PrivateKey.generate(set, encoding=encoding).public_key()
    pickled = check_copies(public)
    assert pickle.loads(pickled).encoding == encoding
    # What comes from a pickle is checked as all other bytes are. All bytes are a key of NTRU Prime.
    zeros = pickled.replace(public.to_bytes(), bytes(len(public.to_bytes())))
    if set.startswith("sntrup"):
        assert pickle.loads(zeros).to_bytes() == bytes(len(public.to_bytes()))
    else:
        refused(ctru.InvalidKey, "zero", pickle.loads, zeros)


def test_nothing_secret_is_shown():
    private = ctru.PrivateKey.generate("761")
    shown = repr(private) + str(private) + repr(vars(ctru)) + repr(private.public_key())
    for secret in (private.to_bytes(), private.seed()):
        for start in range(0, 32, 8):
            assert secret[start : start + 8].hex() not in shown
    assert "761" in repr(private)
    assert repr(ctru.Engine("653", "cpu")).startswith("<ctru.Engine set='653'")


@pytest.mark.parametrize(("set", "encoding"), SETS)
def test_ciphertexts_of_every_other_length(set, encoding):
    private = ctru.PrivateKey.generate(set, encoding=encoding)
    expected = ctru.parameters(set, encoding=encoding).ciphertext_bytes
    for length in range(2 * expected + 8):
        if length == expected:
            # A rejected ciphertext gives a secret like all others.
            secret = private.decapsulate(b"\xff" * length)
            assert (type(secret), len(secret)) == (bytes, 32)
        else:
            refused(ValueError, str(expected), private.decapsulate, b"\xff" * length)


def test_bad_input():
    private = ctru.PrivateKey.generate("761")
    public = private.public_key()
    for length in (0, 1157, 1159):
        refused(ctru.InvalidKey, "1158", ctru.PublicKey.from_bytes, "761", bytes(length))
    refused(ctru.InvalidKey, "zero", ctru.PublicKey.from_bytes, "761", bytes(1158))
    refused(ctru.InvalidKey, "canonical", ctru.PublicKey.from_bytes, "761", b"\xff" * 1158)
    refused(ctru.InvalidKey, "secret polynomial", ctru.PrivateKey.from_bytes, "761", b"\xff" * 1571)
    for length in (0, 31, 33, 96):
        with pytest.raises(ValueError, match=f"expected 32 bytes, got {length}"):
            ctru.PrivateKey.from_seed("761", bytes(length))
    refused(ValueError, "before 2026-11", ctru.PrivateKey.from_seed, "761", bytes(64))
    for length in (0, 32, 63, 65):
        with pytest.raises(ValueError, match=f"pair has {length} bytes, not 64"):
            ctru.PrivateKey.from_vector_seeds("761", bytes(length))
    for length in (0, 951, 953):
        refused(ValueError, "952", private.decapsulate, bytes(length))
    for length in (0, 31, 33, 64):
        refused(ValueError, "coins has", public.encapsulate_deterministic, bytes(length))
    for wrong in (None, 3, "text", [1, 2], object()):
        refused(TypeError, None, private.decapsulate, wrong)
        refused(TypeError, None, ctru.PublicKey.from_bytes, "761", wrong)
    with pytest.raises(ValueError, match="seed is not known"):
        ctru.PrivateKey.from_bytes("761", private.to_bytes()).seed()
    with pytest.raises(ValueError, match="seed is not known"):
        ctru.PrivateKey.from_vector_seeds("761", bytes(64)).seed()
    refused(TypeError, None, ctru.PrivateKey)
    refused(TypeError, None, ctru.PublicKey)
    assert issubclass(ctru.InvalidKey, ValueError)
    assert public != 3
    assert public == ctru.PublicKey.from_bytes("761", public.to_bytes())
    assert hash(public) == hash(ctru.PublicKey.from_bytes("761", bytearray(public.to_bytes())))
    gc.collect()
