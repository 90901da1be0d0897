"""A client that is generated from kem.proto, without other code of this project.

    pip install grpcio grpcio-tools
    python -m grpc_tools.protoc -I crates/ctru-server/proto --python_out=. --grpc_python_out=. \
        kem.proto
    ctru-server sealing-key --out keys; ctru-server serve --sealing-key-file keys
    PYTHONPATH=. python crates/ctru-server/examples/python/client.py 127.0.0.1:50051
"""

import sys

import grpc
import kem_pb2 as kem
import kem_pb2_grpc

# Calls that fail because a server goes down or has too much to do are safe to repeat.
RETRIES = """{"methodConfig": [{"name": [{"service": "ctru.v1.Kem"}], "retryPolicy": {
    "maxAttempts": 5, "initialBackoff": "0.1s", "maxBackoff": "2s", "backoffMultiplier": 2,
    "retryableStatusCodes": ["UNAVAILABLE", "RESOURCE_EXHAUSTED"]}}]}"""


def main(address):
    with grpc.insecure_channel(address, options=[("grpc.service_config", RETRIES)]) as channel:
        calls = kem_pb2_grpc.KemStub(channel)
        scheme = kem.Scheme(set=kem.PARAMETER_SET_CTRU_PRIME_761)
        # The private key is sealed, so it can only be used through a server. This client has no
        # certificate, so every other one without a certificate can use the key, too.
        keys = calls.GenerateKeys(kem.GenerateKeysRequest(scheme=scheme, count=1), timeout=5)
        sent = calls.Encapsulate(
            kem.EncapsulateRequest(scheme=scheme, public_key=keys.public_keys, count=3), timeout=5
        )
        received = calls.Decapsulate(
            kem.DecapsulateRequest(
                scheme=scheme, private_key=keys.private_keys, ciphertexts=sent.ciphertexts
            ),
            timeout=5,
        )
        assert sent.shared_secrets == received.shared_secrets
        print("3 shared secrets agree")


if __name__ == "__main__":
    main(sys.argv[1])
