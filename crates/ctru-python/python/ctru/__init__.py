"""The post-quantum key encapsulation mechanism CTRU-Prime.

`PrivateKey` and `PublicKey` are for one operation at a time, `Engine` is for batches over arrays.
`ctru.arrow` has functions from a record batch to a record batch, `ctru.ray` jobs on a cluster.
"""

from ._ctru import (
    DeviceError,
    Engine,
    InvalidKey,
    Parameters,
    PrivateKey,
    PublicKey,
    parameters,
)

__all__ = [
    "DeviceError",
    "Engine",
    "InvalidKey",
    "Parameters",
    "PrivateKey",
    "PublicKey",
    "parameters",
]
