"""Holds a client that is generated from kem.proto against a running server.

Usage: vectors.py ADDRESS plain|sealed FILE...

With `plain`, the server has a sealing key and --allow-plain-keys; all vectors of the files are
decapsulated in each way that the interface offers. With `sealed`, the server has a sealing key
only; plain keys must be refused. The generated modules are found by PYTHONPATH.
"""

import json
import sys

import grpc
import kem_pb2 as kem
import kem_pb2_grpc
from google.rpc import error_details_pb2
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import (
    ProtoReflectionDescriptorDatabase,
)
from grpc_status import rpc_status

SETS = {
    653: kem.PARAMETER_SET_CTRU_PRIME_653,
    761: kem.PARAMETER_SET_CTRU_PRIME_761,
    1277: kem.PARAMETER_SET_CTRU_PRIME_1277,
}
ENCODINGS = {
    "mixed-radix": kem.PUBLIC_KEY_ENCODING_MIXED_RADIX,
    "packed13": kem.PUBLIC_KEY_ENCODING_PACKED13,
}
TIMEOUT = 60


def refused(code, call, request, field=None):
    """Checks the code of a refusal and, if it names a field, the details."""
    try:
        call(request, timeout=TIMEOUT)
    except grpc.RpcError as error:
        assert error.code() == code, (error.code(), error.details())
        if field is not None:
            assert field in error.details(), error.details()
            status = rpc_status.from_call(error)
            bad = error_details_pb2.BadRequest()
            assert status.details[0].Unpack(bad)
            assert [violation.field for violation in bad.field_violations] == [field], bad
        return
    raise AssertionError(f"not refused: {code}")


class Vectors:
    """The vectors of one file, as the fields of messages."""

    def __init__(self, path):
        with open(path) as file:
            records = [json.loads(line) for line in file]
        self.path = path
        self.scheme = kem.Scheme(
            set=SETS[records[0]["n"]], encoding=ENCODINGS[records[0]["pk_encoding"]]
        )
        column = lambda name: [bytes.fromhex(record[name]) for record in records]
        self.public, self.private = column("pk"), column("sk")
        # Each record has a good and a changed ciphertext.
        self.good = list(zip(column("ct"), column("ss")))
        self.bad = list(zip(column("bad_ct"), column("bad_ss")))

    def both(self):
        """Yields the private keys, ciphertexts and secrets of all records, twice."""
        for pairs in (self.good, self.bad):
            yield self.private, [pair[0] for pair in pairs], [pair[1] for pair in pairs]


def decapsulate(vectors, calls, sealed):
    """Decapsulates all vectors with plain or sealed keys, in all ways."""
    scheme = vectors.scheme
    request = lambda **fields: kem.DecapsulateRequest(scheme=scheme, **fields)
    for plain, ciphertexts, secrets in vectors.both():
        keys = sealed or plain
        joined = request(private_keys=b"".join(keys), ciphertexts=b"".join(ciphertexts))
        answer = calls.Decapsulate(joined, timeout=TIMEOUT)
        assert answer.shared_secrets == b"".join(secrets)
        # One call for each vector, all at the same time, which the server joins.
        futures = [
            calls.Decapsulate.future(request(private_key=key, ciphertexts=ciphertext))
            for key, ciphertext in zip(keys, ciphertexts)
        ]
        assert [future.result(TIMEOUT).shared_secrets for future in futures] == secrets
        stream = (
            request(private_keys=key, ciphertexts=ciphertext)
            for key, ciphertext in zip(keys, ciphertexts)
        )
        answers = calls.DecapsulateStream(stream, timeout=TIMEOUT)
        assert [answer.shared_secrets for answer in answers] == secrets
        loaded = calls.LoadKeys(
            kem.LoadKeysRequest(scheme=scheme, private_keys=b"".join(keys)), timeout=TIMEOUT
        )
        named = request(loaded=loaded.name, ciphertexts=b"".join(ciphertexts))
        answer = calls.Decapsulate(named, timeout=TIMEOUT)
        assert answer.shared_secrets == b"".join(secrets)
        assert [answer.shared_secrets for answer in calls.DecapsulateStream(iter([named] * 3))] == [
            b"".join(secrets)
        ] * 3
        calls.UnloadKeys(kem.UnloadKeysRequest(name=loaded.name), timeout=TIMEOUT)
        refused(grpc.StatusCode.NOT_FOUND, calls.Decapsulate, named)
        one = calls.LoadKeys(kem.LoadKeysRequest(scheme=scheme, private_keys=keys[0]))
        assert len(one.name) == 32 and one.expires_in_seconds > 0
        answer = calls.Decapsulate(request(loaded=one.name, ciphertexts=ciphertexts[0] * 3))
        assert answer.shared_secrets == secrets[0] * 3


def round_trip(vectors, calls, plain):
    """Generates keys, encapsulates in all ways, and decapsulates."""
    scheme = vectors.scheme
    generated = calls.GenerateKeys(kem.GenerateKeysRequest(scheme=scheme, count=5, plain=plain))
    public, private = generated.public_keys, generated.private_keys
    one_public, one_private = public[: len(public) // 5], private[: len(private) // 5]
    loaded = calls.LoadKeys(kem.LoadKeysRequest(scheme=scheme, public_keys=public)).name
    one_loaded = calls.LoadKeys(kem.LoadKeysRequest(scheme=scheme, public_keys=one_public)).name
    of_each, of_one = dict(private_keys=private), dict(private_key=one_private)
    for fields, key in [
        (dict(public_keys=public), of_each),
        (dict(public_keys=public, count=5), of_each),
        (dict(public_key=one_public, count=7), of_one),
        (dict(loaded=loaded, count=5), of_each),
        (dict(loaded=one_loaded, count=2), of_one),
    ]:
        request = kem.EncapsulateRequest(scheme=scheme, **fields)
        sent = [calls.Encapsulate(request, timeout=TIMEOUT)]
        sent += calls.EncapsulateStream(iter([request, request]), timeout=TIMEOUT)
        assert len({answer.shared_secrets for answer in sent}) == 3
        for answer in sent:
            back = kem.DecapsulateRequest(scheme=scheme, ciphertexts=answer.ciphertexts, **key)
            secrets = calls.Decapsulate(back, timeout=TIMEOUT).shared_secrets
            assert len(secrets) > 0 and secrets == answer.shared_secrets


def wrong_requests(vectors, calls, sizes):
    """Checks the codes and details of refusals."""
    scheme, code = vectors.scheme, grpc.StatusCode.INVALID_ARGUMENT
    encapsulate = lambda **fields: kem.EncapsulateRequest(scheme=scheme, **fields)
    good, size = vectors.public[0], sizes.public_key
    refused(code, calls.Encapsulate, kem.EncapsulateRequest(public_key=good), "scheme.set")
    unknown = kem.EncapsulateRequest(scheme=kem.Scheme(set=9), public_key=good)
    refused(code, calls.Encapsulate, unknown, "scheme.set")
    refused(code, calls.Encapsulate, encapsulate(), "key")
    refused(code, calls.Encapsulate, encapsulate(public_key=good[1:], count=1), "public_key")
    refused(code, calls.Encapsulate, encapsulate(public_key=bytes(size), count=1), "public_key")
    refused(
        code,
        calls.Encapsulate,
        encapsulate(public_keys=good + good + bytes(size) + good + bytes(size)),
        "public_keys[2]",
    )
    refused(code, calls.Encapsulate, encapsulate(public_keys=good + b"1"), "public_keys[1]")
    refused(code, calls.Encapsulate, encapsulate(public_keys=good, count=2), "count")
    refused(code, calls.Encapsulate, encapsulate(public_key=good, count=10**6), "count")
    assert calls.Encapsulate(encapsulate(public_keys=b"")) == kem.EncapsulateResponse()
    assert calls.Encapsulate(encapsulate(public_key=good)) == kem.EncapsulateResponse()
    none = kem.GenerateKeysRequest(scheme=scheme)
    assert calls.GenerateKeys(none) == kem.GenerateKeysResponse()
    not_found = grpc.StatusCode.NOT_FOUND
    refused(not_found, calls.Encapsulate, encapsulate(loaded="0" * 32, count=1))
    refused(not_found, calls.UnloadKeys, kem.UnloadKeysRequest(name="none"))
    ciphertext = vectors.good[0][0]
    decapsulate = lambda **fields: kem.DecapsulateRequest(scheme=scheme, **fields)
    sealed = calls.GenerateKeys(kem.GenerateKeysRequest(scheme=scheme, count=2)).private_keys
    one = sealed[: sizes.sealed_private_key]
    for index in (0, 5, 20, 40, len(one) - 1):
        damaged = bytearray(one)
        damaged[index] ^= 1
        request = decapsulate(private_key=bytes(damaged), ciphertexts=ciphertext)
        refused(code, calls.Decapsulate, request, "private_key")
        request = decapsulate(private_keys=one + damaged, ciphertexts=ciphertext * 2)
        refused(code, calls.Decapsulate, request, "private_keys[1]")
    request = decapsulate(private_key=one, ciphertexts=ciphertext[1:])
    refused(code, calls.Decapsulate, request, "ciphertexts[0]")
    request = decapsulate(private_keys=sealed, ciphertexts=ciphertext)
    refused(code, calls.Decapsulate, request, "private_keys[1]")
    refused(code, calls.Decapsulate, decapsulate(private_key=b"1"), "private_key")
    most = sizes.max_keys + 1
    refused(
        code, calls.GenerateKeys, kem.GenerateKeysRequest(scheme=scheme, count=most), "count"
    )
    refused(code, calls.LoadKeys, kem.LoadKeysRequest(scheme=scheme), "keys")
    none = kem.LoadKeysRequest(scheme=scheme, public_keys=b"")
    refused(code, calls.LoadKeys, none, "public_keys")
    # A sealed key is sealed again under the newest key, and still opens.
    again = calls.SealKeys(kem.SealKeysRequest(scheme=scheme, private_keys=sealed)).private_keys
    assert len(again) == len(sealed) and again != sealed
    both = [
        calls.Decapsulate(decapsulate(private_keys=keys, ciphertexts=ciphertext * 2))
        for keys in (sealed, again)
    ]
    assert both[0] == both[1]


def refuse_plain(vectors, calls):
    """Checks that a server without --allow-plain-keys takes and gives no plain keys."""
    code, scheme = grpc.StatusCode.PERMISSION_DENIED, vectors.scheme
    private, ciphertext = vectors.private[0], vectors.good[0][0]
    refused(code, calls.GenerateKeys, kem.GenerateKeysRequest(scheme=scheme, count=1, plain=True))
    refused(code, calls.SealKeys, kem.SealKeysRequest(scheme=scheme, private_keys=private))
    refused(code, calls.LoadKeys, kem.LoadKeysRequest(scheme=scheme, private_keys=private))
    for field in ("private_key", "private_keys"):
        request = kem.DecapsulateRequest(
            scheme=scheme, ciphertexts=ciphertext, **{field: private}
        )
        refused(code, calls.Decapsulate, request)
        refused(code, lambda message, **_: list(calls.DecapsulateStream(iter([message]))), request)


def main(address, mode, paths):
    # Without this, grpcio names the host by the path, which HTTP/2 servers refuse.
    options = [("grpc.default_authority", "localhost")] if address.startswith("unix:") else []
    with grpc.insecure_channel(address, options=options) as channel:
        calls = kem_pb2_grpc.KemStub(channel)
        described = calls.Describe(kem.DescribeRequest(), timeout=TIMEOUT, wait_for_ready=True)
        assert described.plain_private_keys == (mode == "plain")
        assert described.max_message_bytes == 4 << 20 and len(described.server_id) == 32
        sizes = {
            (entry.scheme.set, entry.scheme.encoding): entry for entry in described.schemes
        }
        # Three sets with two encodings each, and six sets of NTRU Prime.
        assert len(sizes) == 12
        health = health_pb2_grpc.HealthStub(channel)
        for service in ("", "ctru.v1.Kem"):
            answer = health.Check(health_pb2.HealthCheckRequest(service=service))
            assert answer.status == health_pb2.HealthCheckResponse.SERVING
        assert "ctru.v1.Kem" in ProtoReflectionDescriptorDatabase(channel).get_services()
        for path in paths:
            vectors = Vectors(path)
            entry = sizes[vectors.scheme.set, vectors.scheme.encoding]
            assert entry.public_key == len(vectors.public[0])
            assert entry.private_key == len(vectors.private[0])
            assert entry.ciphertext == len(vectors.good[0][0])
            wrong_requests(vectors, calls, entry)
            if mode == "plain":
                decapsulate(vectors, calls, None)
                request = kem.SealKeysRequest(
                    scheme=vectors.scheme, private_keys=b"".join(vectors.private)
                )
                sealed, size = calls.SealKeys(request).private_keys, entry.sealed_private_key
                assert len(sealed) == size * len(vectors.private)
                sealed = [sealed[i : i + size] for i in range(0, len(sealed), size)]
                decapsulate(vectors, calls, sealed)
                round_trip(vectors, calls, True)
            else:
                refuse_plain(vectors, calls)
            round_trip(vectors, calls, False)
            print(f"{path}: {len(vectors.private)} records")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
