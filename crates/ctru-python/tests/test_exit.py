"""A daemon thread is in code of Python's that the package calls when Python ends. Without the
package in between, Python 3.11 to 3.13 ends such threads, and the program ends as it should."""

import subprocess
import sys

import pytest

START = """
import sys, threading
import ctru

begun = threading.Event()
engine = ctru.Engine("761", "cpu", threads=1)

def run_on(*_, **__):
    begun.set()
    while True:
        pass

class Finder:
    \"\"\"Imports take for ever.\"\"\"
    def find_spec(self, name, *_):
        if name in ("numpy", "pyarrow"):
            run_on()

sys.meta_path.insert(0, Finder())

def has(**methods):
    \"\"\"Returns an object with some methods.\"\"\"
    return type("Object", (), methods)()

class Failure(Exception):
    __str__ = run_on

def fail(*_, **__):
    raise Failure

"""

END = """
threading.Thread(target=call, daemon=True).start()
assert begun.wait(60)
"""

ON_HOST = "__dlpack_device__=lambda self: (1, 0)"

CALLS = {
    "plain": "run_on()",
    "import of numpy": "engine.generate(1)",
    "import of pyarrow": "engine.generate(1, kind='arrow')",
    "tensor": f"engine.encapsulate(has({ON_HOST}, __dlpack__=run_on))",
    "device": "engine.encapsulate(has(__dlpack_device__=run_on, __dlpack__=run_on))",
    "error": f"engine.encapsulate(has({ON_HOST}, __dlpack__=fail))",
    "arrow": "engine.encapsulate(has(__arrow_c_array__=run_on))",
    "stream": "engine.encapsulate(has(__arrow_c_stream__=run_on))",
    "attribute": "engine.encapsulate(has(__getattr__=run_on))",
    "property": "engine.encapsulate(has(__arrow_c_array__=property(run_on)))",
    "count": "engine.generate(has(__index__=run_on), kind='bytes')",
    "threads": "ctru.Engine('761', 'cpu', threads=has(__index__=run_on))",
    "record batches": "import ctru.arrow",
}
if sys.version_info >= (3, 12):
    CALLS["buffer"] = "engine.encapsulate(has(__buffer__=run_on))"
    CALLS["end of a buffer"] = (
        "engine.decapsulate(has(__buffer__=lambda self, _: memoryview(bytes(1571)),"
        " __release_buffer__=run_on), bytes(952))"
    )


def runs(code):
    """Returns how a program ended, and what it wrote."""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False
    )
    return done.returncode, done.stderr


@pytest.mark.parametrize("name", sorted(CALLS))
def test_code_of_others(name):
    assert runs(f"{START}def call(): {CALLS[name]}\n{END}") == (0, "")


def test_a_batch():
    """A thread that computes takes the GIL at the end of the batch."""
    code = """
def call():
    out = tuple(bytearray(size * 2000) for size in (1158, 1571))
    begun.set()
    while True:
        engine.generate(2000, out=out)
"""
    assert runs(START + code + END) == (0, "")


def test_a_release_function():
    """An array whose release function is code of Python's, which runs when the call is done."""
    code = """
import ctypes

class Schema(ctypes.Structure):
    pass

class Array(ctypes.Structure):
    pass

def released(kind):
    return ctypes.CFUNCTYPE(None, ctypes.POINTER(kind))

void, number = ctypes.c_void_p, ctypes.c_int64
Schema._fields_ = [
    ("format", ctypes.c_char_p), ("name", void), ("metadata", void), ("flags", number),
    ("n_children", number), ("children", void), ("dictionary", void),
    ("release", released(Schema)), ("private", void),
]
Array._fields_ = [
    ("length", number), ("null_count", number), ("offset", number), ("n_buffers", number),
    ("n_children", number), ("buffers", ctypes.POINTER(void)), ("children", void),
    ("dictionary", void), ("release", released(Array)), ("private", void),
]
done, slow = released(Schema)(lambda _: None), released(Array)(run_on)
data = ctypes.create_string_buffer(100)
buffers = (void * 2)(None, ctypes.addressof(data))
schema = Schema(b"w:100", release=done)
array = Array(1, 0, 0, 2, 0, buffers, release=slow)
capsule = ctypes.pythonapi.PyCapsule_New
capsule.restype, capsule.argtypes = ctypes.py_object, [void, void, void]
names = [ctypes.create_string_buffer(name) for name in (b"arrow_schema", b"arrow_array")]

def export(self):
    holders = zip((schema, array), names, strict=True)
    address = ctypes.addressof
    return tuple(capsule(address(it), address(name), None) for it, name in holders)

def call():
    engine.encapsulate(has(__arrow_c_array__=export))
"""
    assert runs(START + code + END) == (0, "")
