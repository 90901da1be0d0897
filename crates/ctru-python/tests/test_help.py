"""What `help` says."""

import importlib.metadata
import inspect

import pytest

import ctru
import ctru.arrow


def public(of):
    return {name: value for name, value in vars(of).items() if not name.startswith("_")}


MEMBERS = {name: getattr(ctru, name) for name in ctru.__all__ if name != "__version__"}
MEMBERS |= {
    f"{of}.{name}": getattr(MEMBERS[of], name)
    for of, value in dict(MEMBERS).items()
    if inspect.isclass(value)
    for name in public(value)
}
MEMBERS |= {f"arrow.{name}": getattr(ctru.arrow, name) for name in ctru.arrow.__all__}


@pytest.mark.parametrize("name", MEMBERS)
def test_members_have_docstrings(name):
    value = MEMBERS[name]
    text = inspect.getdoc(value)
    assert text
    assert text.rstrip().endswith(".")
    if inspect.isclass(value):
        # It is not that of a class above it.
        assert value.__doc__ == vars(value)["__doc__"]
    elif callable(value):
        signature = inspect.signature(value)
        assert "args" not in signature.parameters


def test_engines_have_a_signature():
    names = ["set", "device", "encoding", "threads"]
    assert list(inspect.signature(ctru.Engine).parameters) == names


def test_version():
    assert ctru.__version__ == importlib.metadata.version("ctru")
    assert "__version__" in ctru.__all__


def test_the_module_says_what_there_is():
    text = ctru.__doc__ or ""
    for name in ("PrivateKey", "PublicKey", "HybridPrivateKey", "Engine", "ctru.arrow", "ctru.ray"):
        assert name in text
