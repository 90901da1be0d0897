from typing import Any, Protocol, final

from typing_extensions import Buffer

__all__ = [
    "DeviceError",
    "Engine",
    "HybridPrivateKey",
    "HybridPublicKey",
    "InvalidKey",
    "Parameters",
    "PrivateKey",
    "PublicKey",
    "digest",
    "parameters",
]

class _ArrowArray(Protocol):
    def __arrow_c_array__(
        self, requested_schema: object | None = None
    ) -> tuple[object, object]: ...

class _Tensor(Protocol):
    def __dlpack__(self) -> Any: ...
    def __dlpack_device__(self) -> Any: ...

_Rows = Buffer | _ArrowArray | _Tensor
"""An array of bytes that a batch reads where it lies.

A numpy array or a DLPack tensor has the shape (count, size); one dimension is one row. `bytes`,
`bytearray`, and each other buffer of one dimension, such as a memoryview of `bytes`, have any
number of rows, one after the other. A buffer of two dimensions has the shape (count, size). An
Arrow array has the type `fixed_size_binary`. Arrays are contiguous. DLPack tensors are on the host
or on the GPU of the engine.
"""

class InvalidKey(ValueError):
    """Bytes are not a key. The message names the first bad row of a batch."""

class DeviceError(Exception):
    """The GPU or its driver failed, or is missing."""

@final
class Parameters:
    """The sizes in bytes and the constants of a parameter set."""

    @property
    def set(self) -> str: ...
    @property
    def encoding(self) -> str: ...
    @property
    def public_key_bytes(self) -> int: ...
    @property
    def private_key_bytes(self) -> int: ...
    @property
    def ciphertext_bytes(self) -> int: ...
    @property
    def shared_secret_bytes(self) -> int: ...
    @property
    def n(self) -> int: ...
    @property
    def q(self) -> int: ...

def parameters(set: str, *, encoding: str = "mixed-radix") -> Parameters:
    """Returns the sizes and constants of a parameter set."""

@final
class PublicKey:
    """A public key. Keys with the same bytes are equal. It can be copied and pickled."""

    @staticmethod
    def from_bytes(set: str, data: Buffer, *, encoding: str = "mixed-radix") -> PublicKey:
        """Reads a key. Raises `InvalidKey` if the bytes are not a key."""

    def to_bytes(self) -> bytes:
        """Returns the encoded key."""

    def encapsulate(self) -> tuple[bytes, bytes]:
        """Encapsulates with the system's randomness. Returns the shared secret, which has 32 bytes,
        and the ciphertext."""

    def encapsulate_deterministic(self, coins: Buffer) -> tuple[bytes, bytes]:
        """Encapsulates with 32 bytes in place of randomness, for test vectors. They must be uniform
        and secret, and used once."""

    @property
    def set(self) -> str: ...
    @property
    def encoding(self) -> str: ...
    def __reduce__(self) -> tuple[Any, ...]: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class PrivateKey:
    """A private key, with its public key. It cannot be copied or pickled."""

    @staticmethod
    def generate(set: str, *, encoding: str = "mixed-radix") -> PrivateKey:
        """Generates a key with the system's randomness."""

    @staticmethod
    def from_seed(set: str, seed: Buffer, *, encoding: str = "mixed-radix") -> PrivateKey:
        """Generates the key that 32 bytes determine. The same bytes give an unrelated key for
        another set. A seed must serve one encoding only."""

    @staticmethod
    def from_vector_seeds(
        set: str, pair: Buffer, *, encoding: str = "mixed-radix"
    ) -> PrivateKey:
        """Generates the key that 64 bytes determine: the seed of the polynomials, then `z`. It is
        for test vectors only: with the same bytes, another set has a related key."""

    @staticmethod
    def from_bytes(set: str, data: Buffer, *, encoding: str = "mixed-radix") -> PrivateKey:
        """Reads a key. Raises `InvalidKey` if the bytes are not a key.

        The function does not check that the public key inside belongs to the private one.
        """

    def to_bytes(self) -> bytes:
        """Returns the encoded key, which is secret."""

    def seed(self) -> bytes:
        """Returns the 32 bytes that determine the key, which are secret. Raises `ValueError` if
        they are not known, because the key was neither generated nor made from a seed."""

    def public_key(self) -> PublicKey:
        """Returns the public key."""

    def decapsulate(self, ciphertext: Buffer) -> bytes:
        """Returns the shared secret of a ciphertext.

        If encapsulation to this key did not make the ciphertext, the result is a secret that nobody
        else knows.
        """

    @property
    def set(self) -> str: ...
    @property
    def encoding(self) -> str: ...
    def __copy__(self) -> Any: ...
    def __deepcopy__(self, _memo: Any, /) -> Any: ...
    def __reduce_ex__(self, _protocol: Any, /) -> Any: ...

@final
class HybridPublicKey:
    """A public key of CTRU-Prime with X25519. Keys with the same bytes are equal. It can be copied
    and pickled."""

    @staticmethod
    def from_bytes(set: str, data: Buffer) -> HybridPublicKey:
        """Reads a key. Raises `InvalidKey` if the bytes are not a key."""

    def to_bytes(self) -> bytes:
        """Returns the encoded key."""

    def encapsulate(self) -> tuple[bytes, bytes]:
        """Encapsulates with the system's randomness. Returns the shared secret, which has 32 bytes,
        and the ciphertext."""

    def encapsulate_deterministic(self, coins: Buffer) -> tuple[bytes, bytes]:
        """Encapsulates with 64 bytes in place of randomness, for test vectors. They must be uniform
        and secret, and used once."""

    @property
    def set(self) -> str: ...
    def __reduce__(self) -> tuple[Any, ...]: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class HybridPrivateKey:
    """A private key of CTRU-Prime with X25519, with its public key. It cannot be copied or
    pickled."""

    @staticmethod
    def generate(set: str) -> HybridPrivateKey:
        """Generates a key with the system's randomness."""

    @staticmethod
    def from_bytes(set: str, data: Buffer) -> HybridPrivateKey:
        """Reads a key, 32 bytes, from which both private keys are generated. The same bytes give an
        unrelated key for another set. Raises `InvalidKey` if there is another number of bytes."""

    def to_bytes(self) -> bytes:
        """Returns the 32 bytes of the key, which are secret."""

    def public_key(self) -> HybridPublicKey:
        """Returns the public key."""

    def decapsulate(self, ciphertext: Buffer) -> bytes:
        """Returns the shared secret of a ciphertext.

        If encapsulation to this key did not make the ciphertext, the result is a secret that nobody
        else knows.
        """

    @property
    def set(self) -> str: ...
    def __copy__(self) -> Any: ...
    def __deepcopy__(self, _memo: Any, /) -> Any: ...
    def __reduce_ex__(self, _protocol: Any, /) -> Any: ...

@final
class Engine:
    """Runs batches of one parameter set, on all cores or on an NVIDIA GPU.

    `device` is "cpu", "cuda" for the first GPU, "cuda:1" for the second one, or "auto" for a GPU if
    there is one. `threads` is the number of threads of an engine on the CPU. Unless given, there is
    one per core, or as many as the environment variable `RAYON_NUM_THREADS` says. Several threads
    of Python may use one engine. In a process that was forked, an engine of the parent raises
    `RuntimeError`.

    A batch reads and writes arrays where they lie, without the GIL: all of them on the host, or all
    of them on the GPU of the engine, where it follows the work that their library has issued to its
    current stream. Results are complete when the call returns. A single key for all operations can
    be on the host. `ValueError` is raised if an array of `out` shares memory with another array of
    the call or with one that another call uses, and if a call reads what another one writes. During
    the call, no other code may change the arrays. If a batch fails, the results that it has written
    to `out` are wiped.

    With `seed`, which has 32 bytes, operation `i` takes the seed that is derived from the seed,
    the context, the parameter set and the row `first + i`. So a job can be cut into batches at any
    row. `context` has up to 32 bytes and names what the seed is used for; text counts in UTF-8, and
    `UnicodeEncodeError` is raised if it has lone surrogates. Two batches with the same seed,
    context and rows have the same secrets. Without `seed`, the system's randomness is used.
    """

    def __new__(
        cls,
        set: str,
        device: str = "auto",
        *,
        encoding: str = "mixed-radix",
        threads: int | None = None,
    ) -> Engine: ...
    def generate(
        self,
        count: int,
        *,
        seed: Buffer | None = None,
        context: Buffer | str | None = None,
        first: int | None = None,
        kind: str | None = None,
        out: tuple[_Rows, _Rows] | None = None,
    ) -> tuple[Any, Any]:
        """Generates `count` key pairs. Returns the public and the private keys, as arrays of the
        kind "numpy" or of another `kind`, or the arrays `out`.

        The kinds are "numpy", "arrow", "bytes", "bytearray" and "memoryview", and on the GPU of the
        engine "cupy" and "torch".
        """

    def encapsulate(
        self,
        public_keys: _Rows | PublicKey,
        *,
        count: int | None = None,
        seed: Buffer | None = None,
        context: Buffer | str | None = None,
        first: int | None = None,
        out: tuple[_Rows, _Rows] | None = None,
    ) -> tuple[Any, Any]:
        """Encapsulates once to each key, or `count` times to a single key. Returns the shared
        secrets and the ciphertexts, as arrays of the kind of `public_keys`, which are numpy arrays
        for a `PublicKey`, or the arrays `out`.

        Raises `InvalidKey` with the first row that is not a key.
        """

    def decapsulate(
        self, private_keys: _Rows | PrivateKey, ciphertexts: _Rows, *, out: _Rows | None = None
    ) -> Any:
        """Decapsulates each ciphertext with the key of its row, or with a single key. Returns the
        shared secrets, as an array of the kind of `ciphertexts`, or the array `out`.

        Raises `InvalidKey` with the first row that is not a key.
        """

    @property
    def set(self) -> str: ...
    @property
    def encoding(self) -> str: ...
    @property
    def device(self) -> str: ...
    @property
    def threads(self) -> int: ...

def digest(rows: Buffer, columns: list[Any]) -> bytes:
    """Returns the sum modulo 2^256 of SHA-256(row number || bytes of each column) of all rows.

    `rows` has the numbers of the rows, eight bytes each, little-endian. The result has 32 bytes,
    the most significant one first.
    """
