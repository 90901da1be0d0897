"""One operation at a time."""

import copy
import gc
import hashlib
import pickle

import pytest
from conftest import SETS, vectors

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
    with pytest.raises(ValueError, match="set"):
        ctru.parameters("762")
    with pytest.raises(ValueError, match="encoding"):
        ctru.parameters("761", encoding="base64")
    with pytest.raises(TypeError):
        ctru.parameters(761)
    with pytest.raises(AttributeError):
        sizes.n = 1


def test_private_keys_stay_where_they_are():
    private = ctru.PrivateKey.generate("761")
    for move in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="private key"):
            move(private)
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        with pytest.raises(TypeError):
            pickle.dumps({"key": private}, protocol)


@pytest.mark.parametrize(("set", "encoding"), SETS)
def test_public_keys_can_be_copied(set, encoding):
    public = ctru.PrivateKey.generate(set, encoding=encoding).public_key()
    copies = [copy.copy(public), copy.deepcopy({"key": public})["key"]]
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        pickled = pickle.dumps(public, protocol)
        copies.append(pickle.loads(pickled))
    for again in copies:
        assert type(again) is ctru.PublicKey
        assert again == public
        assert (again.set, again.encoding) == (set, encoding)
    # What comes from a pickle is checked as all other bytes are. All bytes are a key of NTRU Prime.
    zeros = pickled.replace(public.to_bytes(), bytes(len(public.to_bytes())))
    if set.startswith("sntrup"):
        assert pickle.loads(zeros).to_bytes() == bytes(len(public.to_bytes()))
    else:
        with pytest.raises(ctru.InvalidKey, match="zero"):
            pickle.loads(zeros)


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
            with pytest.raises(ValueError, match=str(expected)):
                private.decapsulate(b"\xff" * length)


def test_bad_input():
    private = ctru.PrivateKey.generate("761")
    public = private.public_key()
    for length in (0, 1157, 1159):
        with pytest.raises(ctru.InvalidKey, match="1158"):
            ctru.PublicKey.from_bytes("761", bytes(length))
    with pytest.raises(ctru.InvalidKey, match="zero"):
        ctru.PublicKey.from_bytes("761", bytes(1158))
    with pytest.raises(ctru.InvalidKey, match="canonical"):
        ctru.PublicKey.from_bytes("761", b"\xff" * 1158)
    with pytest.raises(ctru.InvalidKey, match="secret polynomial"):
        ctru.PrivateKey.from_bytes("761", b"\xff" * 1571)
    for length in (0, 31, 33, 96):
        with pytest.raises(ValueError, match=f"expected 32 bytes, got {length}"):
            ctru.PrivateKey.from_seed("761", bytes(length))
    with pytest.raises(ValueError, match="before 2026-11"):
        ctru.PrivateKey.from_seed("761", bytes(64))
    for length in (0, 32, 63, 65):
        with pytest.raises(ValueError, match=f"pair has {length} bytes, not 64"):
            ctru.PrivateKey.from_vector_seeds("761", bytes(length))
    for length in (0, 951, 953):
        with pytest.raises(ValueError, match="952"):
            private.decapsulate(bytes(length))
    for length in (0, 31, 33, 64):
        with pytest.raises(ValueError, match="coins has"):
            public.encapsulate_deterministic(bytes(length))
    for wrong in (None, 3, "text", [1, 2], object()):
        with pytest.raises(TypeError):
            private.decapsulate(wrong)
        with pytest.raises(TypeError):
            ctru.PublicKey.from_bytes("761", wrong)
    with pytest.raises(ValueError, match="seed is not known"):
        ctru.PrivateKey.from_bytes("761", private.to_bytes()).seed()
    with pytest.raises(ValueError, match="seed is not known"):
        ctru.PrivateKey.from_vector_seeds("761", bytes(64)).seed()
    with pytest.raises(TypeError):
        ctru.PrivateKey()
    with pytest.raises(TypeError):
        ctru.PublicKey()
    assert issubclass(ctru.InvalidKey, ValueError)
    assert public != 3
    assert public == ctru.PublicKey.from_bytes("761", public.to_bytes())
    assert hash(public) == hash(ctru.PublicKey.from_bytes("761", bytearray(public.to_bytes())))
    gc.collect()
