"""Keys of CTRU-Prime with X25519."""

import hashlib
from concurrent.futures import ThreadPoolExecutor

import pytest
from conftest import ROOT, records, refused
from test_single import check_copies

import ctru

#: The bytes of a public key and of a ciphertext.
SIZES = {"653": (1026, 930), "761": (1190, 984), "1277": (2099, 1629)}
SETS = list(SIZES)


@pytest.mark.parametrize("set", SETS)
def test_vectors(set):
    found = records(ROOT / "tests/vectors", f"x25519-ctru-prime-{set}.jsonl")
    assert len(found) == 100
    for record in found:
        private = ctru.HybridPrivateKey.from_bytes(set, record["private_key"])
        public = private.public_key()
        assert public.to_bytes() == record["public_key"]
        assert public == ctru.HybridPublicKey.from_bytes(set, record["public_key"])
        secret, ciphertext = public.encapsulate_deterministic(record["coins"])
        assert (secret, ciphertext) == (record["shared_secret"], record["ciphertext"])
        assert private.decapsulate(record["ciphertext"]) == record["shared_secret"]


@pytest.mark.parametrize("set", SETS)
def test_round_trip(set):
    private = ctru.HybridPrivateKey.generate(set)
    public = private.public_key()
    secret, ciphertext = public.encapsulate()
    assert private.decapsulate(ciphertext) == secret
    assert [type(secret), type(ciphertext)] == [bytes, bytes]
    assert (len(public.to_bytes()), len(ciphertext)) == SIZES[set]
    assert (len(private.to_bytes()), len(secret)) == (32, 32)
    again = ctru.HybridPrivateKey.from_bytes(set, bytearray(private.to_bytes()))
    assert again.to_bytes() == private.to_bytes()
    assert again.decapsulate(memoryview(ciphertext)) == secret
    assert (private.set, public.set) == (set, set)
    assert public.encapsulate() != (secret, ciphertext)
    assert ctru.HybridPrivateKey.generate(set).to_bytes() != private.to_bytes()


def test_each_part_of_a_ciphertext_counts():
    private = ctru.HybridPrivateKey.generate("761")
    secret, ciphertext = private.public_key().encapsulate()
    for place in (0, 951, 952, 983):
        changed = bytearray(ciphertext)
        changed[place] ^= 0x80
        assert private.decapsulate(changed) != secret
    # A point of low order, whose result is zero, is hashed like any other.
    assert len({private.decapsulate(ciphertext[:952] + bytes(32)), secret}) == 2


def test_the_part_of_ctru_prime_is_a_plain_key():
    private = ctru.HybridPrivateKey.generate("653")
    expanded = hashlib.shake_256(b"CTRU-Prime-653 X25519 key v1" + private.to_bytes()).digest(96)
    plain = ctru.PrivateKey.from_vector_seeds("653", expanded[:64])
    assert private.public_key().to_bytes()[:-32] == plain.public_key().to_bytes()


@pytest.mark.parametrize("set", SETS)
def test_public_keys_can_be_copied(set):
    check_copies(ctru.HybridPrivateKey.generate(set).public_key())


def test_nothing_secret_is_shown():
    private = ctru.HybridPrivateKey.generate("761")
    assert repr(private) == str(private) == "<ctru.HybridPrivateKey set='761'>"
    start = private.public_key().to_bytes()[:8].hex()
    assert repr(private.public_key()) == f"<ctru.HybridPublicKey set='761' {start}..>"


def test_bad_input():
    private = ctru.HybridPrivateKey.generate("761")
    public = private.public_key()
    for length in (0, 31, 33, 64, 95, 97, 1571):
        with pytest.raises(ctru.InvalidKey, match="expected 32 bytes"):
            ctru.HybridPrivateKey.from_bytes("761", bytes(length))
    refused(ctru.InvalidKey, "before 2026-11", ctru.HybridPrivateKey.from_bytes, "761", bytes(96))
    for length in (0, 1158, 1189, 1191):
        refused(ctru.InvalidKey, "1190", ctru.HybridPublicKey.from_bytes, "761", bytes(length))
    with pytest.raises(ctru.InvalidKey, match="zero"):
        ctru.HybridPublicKey.from_bytes("761", bytes(1158) + public.to_bytes()[1158:])
    refused(ctru.InvalidKey, "canonical", ctru.HybridPublicKey.from_bytes, "761", b"\xff" * 1190)
    for length in (0, 952, 983, 985):
        with pytest.raises(ValueError, match="ciphertext is not valid: expected 984 bytes"):
            private.decapsulate(bytes(length))
    for length in (0, 32, 63, 65):
        refused(ValueError, "coins has", public.encapsulate_deterministic, bytes(length))
    for set in ("762", "", "X25519"):
        refused(ValueError, "set is", ctru.HybridPrivateKey.generate, set)
    for wrong in (None, 3, "text", [1, 2], object()):
        for call in (
            private.decapsulate,
            public.encapsulate_deterministic,
            lambda data: ctru.HybridPublicKey.from_bytes("761", data),
            lambda data: ctru.HybridPrivateKey.from_bytes("761", data),
        ):
            refused(TypeError, None, call, wrong)
    for make in (ctru.HybridPrivateKey, ctru.HybridPublicKey):
        refused(TypeError, None, make)
    # Every string of 32 bytes is a key of X25519.
    other = ctru.HybridPublicKey.from_bytes("761", public.to_bytes()[:1158] + b"\xff" * 32)
    assert other != public
    assert public == ctru.HybridPublicKey.from_bytes("761", public.to_bytes())
    assert len({hash(other), hash(public), hash(private.public_key())}) == 2
    # Keys of both kinds are never equal, and an engine takes no hybrid key.
    assert private.public_key() != ctru.PrivateKey.generate("761").public_key()
    for call in (ctru.Engine("761", "cpu").encapsulate, ctru.Engine("761", "cpu").generate):
        refused(TypeError, None, call, public)


def test_threads_share_keys():
    private = ctru.HybridPrivateKey.generate("653")
    public = private.public_key()

    def work(_):
        for _ in range(20):
            secret, ciphertext = public.encapsulate()
            assert private.decapsulate(ciphertext) == secret

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
