"""The post-quantum key encapsulation mechanism CTRU-Prime.

`PrivateKey` and `PublicKey` are for one operation at a time, and so are `HybridPrivateKey` and
`HybridPublicKey`, which are CTRU-Prime with X25519. `Engine` is for batches over arrays.
`ctru.arrow` has functions from a record batch to a record batch, `ctru.ray` jobs on a cluster.
"""

from ._ctru import (
    SETS,
    DeviceError,
    Engine,
    HybridPrivateKey,
    HybridPublicKey,
    InvalidKey,
    Parameters,
    PrivateKey,
    PublicKey,
    __version__,
    parameters,
)

__all__ = [
    "SETS",
    "DeviceError",
    "Engine",
    "HybridPrivateKey",
    "HybridPublicKey",
    "InvalidKey",
    "Parameters",
    "PrivateKey",
    "PublicKey",
    "__version__",
    "parameters",
]
