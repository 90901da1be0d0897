"""Jobs on Ray on this machine: a node is killed, a job is stopped and resumed."""

import errno
import json
import os
import signal
import stat
import sys
import threading
import time
import uuid
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import refused

import ctru
import ctru.arrow

ray = pytest.importorskip("ray")

import ctru.ray  # noqa: E402
from ctru.ray import _files, _job  # noqa: E402
from ctru.ray.__main__ import main  # noqa: E402
from ctru.ray._place import placement  # noqa: E402

NODE = {"num_cpus": 3, "node_ip_address": "127.0.0.1", "object_store_memory": 400 << 20}
ROWS, FILES = 32_000, 16
SEED = bytes(range(100, 132))
CONTEXT = "tests of ray"
SEEDS = {"seed": SEED, "context": CONTEXT, "device": "cpu"}


@pytest.fixture(scope="module")
def cluster():
    """A cluster of one node on the loopback interface."""
    import ray._private.services as services
    from ray.cluster_utils import Cluster

    services.get_node_ip_address = lambda *_, **__: "127.0.0.1"
    head = {**NODE, "include_log_monitor": False}
    cluster = Cluster(initialize_head=True, head_node_args=head)
    ray.init(address=cluster.address, _node_ip_address="127.0.0.1", log_to_driver=False)
    yield cluster
    ray.shutdown()
    cluster.shutdown()


@pytest.fixture
def kill(cluster):
    """Starts another node. Returns a function that kills it and all that runs on it."""
    node = cluster.add_node(**NODE)
    cluster.wait_for_nodes()
    return lambda: cluster.remove_node(node, allow_graceful=False)


@pytest.fixture(scope="module")
def seed_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("seed") / "seed"
    path.write_bytes(SEED)
    path.chmod(0o600)
    return str(path)


@pytest.fixture(scope="module")
def keys(cluster, tmp_path_factory, seed_file):
    """Returns a folder with public keys."""
    out = tmp_path_factory.mktemp("keys") / "keys"
    command = ["keygen", "--count", str(ROWS), "--rows-per-file", str(ROWS // FILES)]
    assert main([*command, *options(seed_file, out, actors=2)]) == 0
    return out


def options(seed_file, out, actors=1, context=CONTEXT):
    """Returns the arguments of a job that all of them have."""
    seeds = ["--seed-file", str(seed_file), "--context", context]
    return [*seeds, "--out", str(out), "--device", "cpu", "--quiet", "--actors", str(actors)]


def numbered(first, end):
    return pa.record_batch({"row": pa.array(range(first, end), pa.uint64())})


@pytest.fixture(scope="module")
def expected():
    """Returns the digest of the job, computed in this process."""
    keys = ctru.arrow.generate(numbered(0, ROWS), **SEEDS)
    return ctru.arrow.digest(ctru.arrow.encapsulate(keys, **SEEDS), ["ciphertext"])


def check_files(folder, expected):
    """Checks that each row is there exactly once, and that the digest is the expected one."""
    table = pq.read_table(folder)
    assert table.schema.names == ["row", "ciphertext"]
    assert sorted(table.column("row").to_pylist()) == list(range(ROWS))
    assert ctru.arrow.digest(table, ["ciphertext"]) == expected
    assert not [path for path in folder.iterdir() if path.name.endswith(".tmp")]


def encaps(keys, out, seed_file, actors=1):
    return ["encaps", "--keys", str(keys), *options(seed_file, out, actors)]


def result(command, capsys):
    """Runs a job, and returns what it prints."""
    capsys.readouterr()
    status = main(command)
    told = capsys.readouterr()
    assert status == 0, told.err
    return json.loads(told.out.splitlines()[-1])


@pytest.fixture
def slow(monkeypatch, tmp_path_factory):
    """Returns a function that makes the actors of jobs slow. They all begin at the same time."""
    folder = tmp_path_factory.mktemp("ready")

    def slow(seconds, actors):
        class Slow(_job.PartWorker):
            def ready(self):
                (folder / uuid.uuid4().hex).touch()
                while len(list(folder.iterdir())) < actors:
                    time.sleep(0.02)
                return super().ready()

            def run(self, part):
                time.sleep(seconds)
                return super().run(part)

        monkeypatch.setattr(_job, "PartWorker", Slow)

    return slow


def when_there(folder, count, do):
    """Calls a function in a thread, when so many files are there."""

    def wait():
        while len(list(folder.glob("*.parquet"))) < count:
            time.sleep(0.02)
        do()

    thread = threading.Thread(target=wait)
    thread.start()
    return thread


def test_a_job_is_stopped_and_resumed(keys, tmp_path, seed_file, expected, capsys, slow):
    out = tmp_path / "sent"
    command = encaps(keys, out, seed_file)
    slow(0.2, actors=1)
    thread = when_there(out, 3, lambda: os.kill(os.getpid(), signal.SIGINT))
    assert main(command) == 130
    thread.join()
    assert "stopped" in capsys.readouterr().err
    before = {path.name: path.stat().st_mtime_ns for path in out.glob("*.parquet")}
    assert 3 <= len(before) < FILES
    told = result(command, capsys)
    assert (told["rows"], int(told["digest"], 16)) == (ROWS, expected)
    after = {path.name: path.stat().st_mtime_ns for path in out.glob("*.parquet")}
    assert before.items() <= after.items()
    check_files(out, expected)


def make_keys(out, seed_file, count=100, rows_per_file=50, context=CONTEXT, **secrets):
    """Makes the files of a job that generates keys, in this process. Returns their folder."""
    work = _job.Work("keygen", seed_file=seed_file, context=context, device="cpu", **secrets)
    job = _job.key_generation(work, count, rows_per_file, out)
    out.mkdir()
    job.begin()
    for part in job.parts:
        _job.PartWorker(work, str(out)).run(part)
    return out


def test_a_job_without_a_seed_file_is_resumed(cluster, tmp_path, seed_file, capsys):
    """The seed of the keys that it reads is not its own."""
    keys = make_keys(tmp_path / "keys", seed_file)
    out = tmp_path / "sent"
    command = ["encaps", "--keys", str(keys), "--include-secrets", "--quiet", "--device", "cpu"]
    command += ["--actors", "1", "--out", str(out)]
    assert main(command) == 0
    first, second = sorted(out.glob("*.parquet"))
    assert b"ctru.seed" in pq.read_metadata(keys / first.name).metadata
    assert b"ctru.seed" not in pq.read_metadata(first).metadata
    before = first.read_bytes()
    second.unlink()
    assert main(command) == 0, capsys.readouterr().err
    assert first.read_bytes() == before
    assert second.exists()


def fails(command, match, capsys):
    capsys.readouterr()
    assert main(command) == 1
    told = capsys.readouterr().err
    assert told.startswith("error: ")
    assert match in told


def test_the_input_of_a_job_stays_the_same(cluster, tmp_path, seed_file, capsys):
    keys = make_keys(tmp_path / "keys", seed_file)
    out = tmp_path / "sent"
    command = encaps(keys, out, seed_file)
    assert main(command) == 0
    first, second = sorted(out.glob("*.parquet"))
    # Other keys, with the same names and numbers of rows.
    other = make_keys(tmp_path / "other", seed_file, context="another context")
    begun = _job.over_files(_work(seed_file), keys, None)
    (other / first.name).replace(keys / first.name)
    changed = f"1 of 2 input files have changed since, such as {first.name}"
    fails(command, changed, capsys)
    # An actor sees it too.
    worker = _job.PartWorker(_work(seed_file), None)
    worker.run(begun.parts[1])
    refused(_job.JobError, "has changed since the job began", worker.run, begun.parts[0])
    # A file of the results is compared with its own input.
    record = json.loads((out / _job.RECORD).read_text())
    record["files"][first.name] = _files.fingerprint(keys / first.name)
    (out / _job.RECORD).write_text(json.dumps(record))
    fails(command, f"{first.name} of this job was made from another input", capsys)
    first.unlink()
    assert main(command) == 0
    (keys / second.name).unlink()
    fails(command, "another input: files were added or removed", capsys)
    (keys / first.name).write_bytes(b"PAR1 no footer PAR1")
    fails(command, "is not a Parquet file", capsys)


def _work(seed_file, **options):
    return _job.Work("encaps", seed_file=seed_file, context=CONTEXT, device="cpu", **options)


def test_the_first_file_of_a_part_stays(cluster, tmp_path, seed_file):
    """An actor that was given up finishes its part after the actor in its place."""
    keys = make_keys(tmp_path / "keys", seed_file)
    work = _job.Work("encaps", include_secrets=True, device="cpu")
    out = tmp_path / "sent"
    job = _job.over_files(work, keys, out)
    (part, _) = job.parts
    # As on a node that has another folder there, or none.
    for _ in range(2):
        with pytest.raises(_job.JobError, match="on this node is not that of the job"):
            _job.PartWorker(work, str(out)).run(part)
        out.mkdir(exist_ok=True)
    job.begin()
    done = _job.PartWorker(work, str(out)).run(part)
    before = (out / part.name).read_bytes()
    # Without a seed, other secrets are computed.
    assert _job.PartWorker(work, None).run(part).digest != done.digest
    assert _job.PartWorker(work, str(out)).run(part) == done
    assert (out / part.name).read_bytes() == before
    assert sorted(path.name for path in out.iterdir()) == [_job.RECORD, part.name]


@pytest.mark.parametrize("code", [errno.EPERM, errno.EOPNOTSUPP, errno.EIO])
def test_file_systems_without_links(tmp_path, monkeypatch, code):
    def link(*_):
        raise OSError(code, "no links")

    monkeypatch.setattr(_files.os, "link", link)
    new, path = tmp_path / "new", tmp_path / "file"
    new.write_bytes(b"1")
    if code == errno.EIO:
        refused(OSError, "no links", _files.publish, new, path)
        return
    assert _files.publish(new, path)
    new.write_bytes(b"2")
    assert not _files.publish(new, path)
    assert path.read_bytes() == b"1"


def test_a_folder_has_one_driver(cluster, tmp_path, seed_file, capsys):
    out = tmp_path / "keys"
    below = out / ".cache.tmp"
    below.mkdir(parents=True)
    unfinished = _files.temporary_name(out / "part-00000000.parquet")
    others = [_files.temporary_name(below / "part-00000000.parquet"), out / ".other.tmp"]
    for path in (unfinished, *others):
        path.touch()
    with _files.locked(out):
        command = ["keygen", "--count", "5", *options(seed_file, out)]
        fails(command, "another job is running in the folder", capsys)
        assert unfinished.exists()
    # What a run has left is removed by the next one, however that ends.
    fails([*command, "--actors", "0"], "actors is 0", capsys)
    assert not unfinished.exists()
    assert main(command) == 0
    assert all(path.exists() for path in others)


def test_nodes_with_other_seeds(cluster, tmp_path, monkeypatch):
    """The first actor with another seed ends the job."""

    class Other(_job.PartWorker):
        def __init__(self, work, out):
            super().__init__(work, out)
            self._worker._seed = os.urandom(32)

    seed = tmp_path / "seed"
    assert main(["seed", str(seed)]) == 0
    work = _job.Work("keygen", seed_file=str(seed), context="x", device="cpu")
    monkeypatch.setattr(_job, "PartWorker", Other)
    job = _job.key_generation(work, 1000, 1, None)
    refused(_job.JobError, "the seed file", _job.run, job, actors=2, threads=1, quiet=True)
    assert len(job.done) < 1000
    assert len({done.seed for done in job.done.values()}) <= 1
    # What an actor says of a part counts too.
    job = _job.key_generation(work, 2, 1, None)
    job.take(job.parts[0], _job.Done(1, 0, "1", None))
    refused(_job.JobError, "different seeds", job.take, job.parts[1], _job.Done(1, 0, "2", None))
    assert list(job.done) == [job.parts[0].name]


def test_folders_below_and_odd_names(cluster, tmp_path, seed_file, capsys):
    """All files are read, wherever they are and whatever their names are."""
    keys = make_keys(tmp_path / "ke ys %20[1]", seed_file, 1000, 100)
    both = ctru.arrow.generate(numbered(0, 1000), **SEEDS)
    expected = ctru.arrow.digest(ctru.arrow.encapsulate(both, **SEEDS), ["ciphertext"])
    names = [
        "day=1/part-1.parquet",
        "day=1/part-1.parq",
        "day=2/hour=3/x",
        "a b%20[0]*?.parquet",
        "schlüssel \N{KEY}.parquet",
        "file:x.parquet",
        "s3%3A%2F%2Fb.PARQUET",
        os.fsdecode(b"not-utf8-\xff.parquet"),
        "line\nbreak.parquet",
    ]
    for number, name in enumerate(names):
        path = keys / name
        path.parent.mkdir(parents=True, exist_ok=True)
        (keys / f"part-{number:08}.parquet").rename(path)
    # Links count as what they lead to.
    aside = tmp_path / "aside"
    aside.mkdir()
    (keys / "day=2").rename(aside / "day=2")
    (keys / "link").symlink_to(aside / "day=2")
    (keys / "part-00000009.parquet").rename(aside / "file")
    (keys / "linked.parquet").symlink_to(aside / "file")
    for path in ("_SUCCESS", "day=1/.part-1.parquet.crc", "_notes/text", ".git/config"):
        (keys / path).parent.mkdir(exist_ok=True)
        (keys / path).write_bytes(b"none")
    table = pq.read_table(keys / names[0])
    pq.write_metadata(table.schema, keys / "_common_metadata")
    (keys / "empty").mkdir()
    out = tmp_path / "sent"
    for _ in range(2):
        told = result(encaps(keys, out, seed_file), capsys)
        assert (told["rows"], told["files"], int(told["digest"], 16)) == (1000, 10, expected)
    assert (out / "day=1/part-1.parq").is_file()
    assert (out / "link/hour=3/x").is_file()
    # And as the input of the next job.
    command = ["decaps", "--ciphertexts", str(out), "--include-secrets"]
    assert result([*command, *options(seed_file, tmp_path / "received")], capsys)["rows"] == 1000


def test_files_that_would_be_left_out(cluster, tmp_path, seed_file, capsys):
    """A job names what it would neither read nor may pass over."""
    keys = make_keys(tmp_path / "keys", seed_file)
    whole = keys / "part-00000001.parquet"
    job = encaps(keys, tmp_path / "sent", seed_file)

    def bad(path, match, make):
        path = keys / path
        path.parent.mkdir(parents=True, exist_ok=True)
        make(path)
        fails(job, match, capsys)
        path.unlink()

    def copy(path):
        path.write_bytes(whole.read_bytes())

    for name in (".hidden.parquet", "_hidden.parquet", "_x/part.parquet", "sub/.y/part.parq"):
        bad(name, f"{name} is hidden", copy)
    for name in ("text.txt", "sub/text", "sub/empty.parquet", "half.parquet"):
        bad(name, f"{name} is not a Parquet file", lambda path: path.write_bytes(b"PAR1PAR1"))
    bad("sub/pipe", "sub/pipe is neither a file nor a folder", os.mkfifo)
    bad("sub/nowhere", "sub/nowhere cannot be read", lambda path: path.symlink_to("none"))
    bad("sub/loop", "are the same", lambda path: path.symlink_to(keys))
    bad("twice.parquet", "are the same", lambda path: path.symlink_to(whole))
    bad("twice.parquet", "are the same", lambda path: path.hardlink_to(whole))
    assert not (tmp_path / "sent").exists()
    fails(encaps(keys, keys / "below/sent", seed_file), "none inside it", capsys)
    empty = tmp_path / "empty"
    (empty / "below").mkdir(parents=True)
    fails(encaps(empty, tmp_path / "x", seed_file), "no Parquet files", capsys)
    fails(encaps(whole, tmp_path / "x", seed_file), "no Parquet files", capsys)
    own = tmp_path / "own"
    (own / "below").mkdir(parents=True)
    copy(own / "below/part.parq")
    fails(encaps(keys, own, seed_file), "Parquet files of no job", capsys)
    assert main(job) == 0


def test_columns_of_other_types(cluster, tmp_path, seed_file):
    """Data sets and files whose keys are not of a fixed size."""
    keys = ctru.arrow.generate(numbered(0, 300), private_key=None, **SEEDS)
    expected = ctru.arrow.digest(ctru.arrow.encapsulate(keys, **SEEDS), ["ciphertext"])
    column = keys.column("public_key")
    tables = [
        pa.table({"row": keys.column("row"), "public_key": made})
        for made in [
            column.cast(pa.large_binary()),
            column.cast(pa.binary()).dictionary_encode(),
            column.cast(pa.binary()),
            column.cast(pa.binary()).cast(pa.binary_view()),
        ]
    ]
    # In tests, Ray refuses to serialize the last type instead of using the slow way.
    for table in tables[:3]:
        sent = ctru.ray.encapsulate(ray.data.from_arrow(table), **of_data(seed_file, 100))
        assert ctru.ray.digest(sent, ["ciphertext"]) == expected
    folder = tmp_path / "keys"
    folder.mkdir()
    for number, table in enumerate(tables):
        pq.write_table(table.slice(75 * number, 75), folder / f"{number}.parquet")
    job = _job.over_files(_work(seed_file), folder, None)
    _job.run(job, actors=1, threads=1, quiet=True)
    assert (job.rows(), job.digest()) == (300, expected)


def of_data(seed_file, batch_size):
    """Returns the arguments for data sets that all of them have."""
    seeds = {"seed_file": seed_file, "context": CONTEXT}
    return {**seeds, "device": "cpu", "actors": 1, "batch_size": batch_size}


def test_many_actors_are_lost_while_they_start(cluster, tmp_path, seed_file, monkeypatch):
    """As with one node that is lost, they count as one."""
    monkeypatch.setattr(_job, "ATTEMPTS", 1)

    class Lost(_job.PartWorker):
        def ready(self):
            (tmp_path / uuid.uuid4().hex).touch()
            if len(list(tmp_path.iterdir())) > self.lost:
                return super().ready()
            # No actor is lost before all of them begin.
            while len(list(tmp_path.iterdir())) < self.at_once:
                time.sleep(0.02)
            os._exit(1)

    class Few(Lost):
        lost = at_once = 2

    class All(Lost):
        lost, at_once = 1000, 1

    work = _job.Work("keygen", seed_file=seed_file, context="x", device="cpu")
    monkeypatch.setattr(_job, "PartWorker", Few)
    job = _job.key_generation(work, 6, 1, None)
    _job.run(job, actors=2, threads=1, quiet=True)
    assert job.rows() == 6
    monkeypatch.setattr(_job, "PartWorker", All)
    with pytest.raises(_job.JobError, match="while they started"):
        _job.run(_job.key_generation(work, 6, 1, None), actors=1, threads=1, quiet=True)


def test_a_cluster_without_a_gpu(cluster, tmp_path, seed_file, capsys):
    if ray.cluster_resources().get("GPU"):
        pytest.skip("there is a GPU")
    command = ["keygen", "--count", "5", "--quiet", "--seed-file", seed_file, "--context", "x"]
    fails([*command, "--device", "cuda"], "no node of the cluster has a GPU", capsys)
    with pytest.raises(ctru.ray.JobError, match="no node of the cluster has a GPU"):
        ctru.ray.generate_public_keys(5, seed_file=seed_file, context="x", device="cuda")


def test_a_set_without_kernels_leaves_gpus_alone(monkeypatch):
    monkeypatch.setattr(ray, "cluster_resources", lambda: {"CPU": 8.0, "GPU": 2.0})
    monkeypatch.setattr(ray, "nodes", lambda: [{"Alive": True}])
    for set, device, count, gpus in (("761", "cuda", 2, 1), ("sntrup857", "cpu", 7, 0)):
        work, actors, resources = placement(_job.Work("keygen", set), None, None, spare=1)
        assert (work.device, actors, resources.get("num_gpus", 0)) == (device, count, gpus)


def test_secrets_are_columns_only_if_named(cluster, tmp_path, seed_file):
    options = of_data(seed_file, 500)
    public = ctru.ray.generate_public_keys(1000, **options).materialize()
    assert public.schema().names == ["row", "public_key"]
    both = ctru.ray.generate_public_keys(1000, include_secrets=True, **options).materialize()
    assert both.schema().names == ["row", "public_key", "private_key"]
    sent = ctru.ray.encapsulate(both, **options).materialize()
    assert sent.schema().names == ["row", "ciphertext"]
    received = ctru.ray.decapsulate(sent, include_secrets=True, **options)
    again = ctru.ray.encapsulate(public, include_secrets=True, **options)
    columns = ["shared_secret"]
    digests = [ctru.ray.digest(data, columns) for data in (received, again)]
    assert digests[0] == digests[1]
    # Without a seed file, the private keys are a column.
    sent = ctru.ray.encapsulate(both, include_secrets=True, device="cpu", actors=1)
    assert sent.schema().names == ["row", "ciphertext", "shared_secret"]
    # Whoever reads it again gets the same secrets.
    assert ctru.ray.digest(sent, columns) == ctru.ray.digest(sent, columns)
    unsafe = {"include_secrets": False, "device": "cpu"}
    refused(ValueError, "lost", ctru.ray.encapsulate, public, **unsafe)
    refused(ValueError, "include_secrets", ctru.ray.decapsulate, sent, **unsafe)
    refused(ValueError, "context", ctru.ray.encapsulate, public, seed_file=seed_file)
    with pytest.raises(ValueError, match="batches"):
        ctru.ray.generate_public_keys(5, seed_file=seed_file, context="x", batch_size=0)
    with pytest.raises(ValueError, match="32 bytes"):
        ctru.ray.encapsulate(public, seed_file=seed_file, context="x" * 33)
    with pytest.raises(ValueError, match="set"):
        ctru.ray.encapsulate(public, set="762", seed_file=seed_file, context="x")


def test_seed_files(tmp_path, monkeypatch):
    from ctru.ray._work import read_seed

    path = tmp_path / "seed"
    synced = []
    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", lambda file: synced.append(os.fstat(file).st_mode))
        assert main(["seed", str(path)]) == 0
    # The file, then its folder.
    assert [stat.S_ISDIR(mode) for mode in synced] == [False, True]
    assert path.stat().st_mode & 0o777 == 0o600
    seed = read_seed(str(path))
    assert len(seed) == 32
    assert main(["seed", str(path)]) == 1

    def no_links(*_):
        raise OSError(errno.EPERM, "no links")

    # Two commands at once, each of which finds no file, on a file system without links.
    with monkeypatch.context() as patched:
        patched.setattr(os, "link", no_links)
        patched.setattr(Path, "exists", lambda _: False)
        assert main(["seed", str(path)]) == 1
    assert read_seed(str(path)) == seed

    def full(_):
        raise OSError(errno.ENOSPC, "no space is left")

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        assert main(["seed", str(tmp_path / "other")]) == 1
    assert list(tmp_path.iterdir()) == [path]
    for mode in (0o640, 0o604, 0o610):
        path.chmod(mode)
        refused(PermissionError, f"{mode:04o}", read_seed, str(path))
    path.chmod(0o600)
    for content in (b"", bytes(31), bytes(33)):
        path.write_bytes(content)
        refused(ValueError, "32 bytes", read_seed, str(path))
    for other in ("/dev/null", str(tmp_path)):
        refused(ValueError, f"{other} is not a regular file", read_seed, other)
    refused(FileNotFoundError, None, read_seed, str(tmp_path / "none"))


@pytest.fixture
def pipe(tmp_path):
    """A pipe to which nobody writes. A test that waits for a writer fails."""

    def late(*_):
        pytest.fail("something waits for a pipe")

    path = tmp_path / "pipe"
    os.mkfifo(path)
    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(20)
    yield path
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def test_pipes_are_refused(pipe):
    from ctru.ray._work import Work, read_seed

    def begin(path):
        path.rename(path.with_name(_job.RECORD))
        _job.key_generation(Work("keygen"), 1, 1, path.parent).begin()

    for read in (read_seed, _files.is_parquet, _files.fingerprint, _job.read_done, begin):
        refused(ValueError, "is not a regular file", read, pipe)


def test_bad_jobs(cluster, tmp_path, seed_file, capsys):
    out = tmp_path / "out"
    job = ["keygen", "--count", "100", "--rows-per-file", "50", *options(seed_file, out)]
    assert main(job) == 0
    assert main(job) == 0

    changed = [CONTEXT + "!" if part == CONTEXT else part for part in job]
    fails(changed, "another context", capsys)
    fails(["51" if part == "50" else part for part in job], "another rows_per_file", capsys)
    other = tmp_path / "other"
    assert main(["seed", str(other)]) == 0
    with_other = [str(other) if part == seed_file else part for part in job]
    # First no part is left to do, then one.
    fails(with_other, "not the one of the parts that are done", capsys)
    other.chmod(0o644)
    # The first actor ends the job.
    text = f"an actor cannot start: PermissionError: the seed file {other} has the mode 0644"
    fails(with_other, text, capsys)
    (out / "part-00000001.parquet").unlink()
    fails(with_other, text, capsys)
    other.chmod(0o600)
    fails(with_other, "not the one of the parts that are done", capsys)
    assert main(job) == 0
    fails(encaps(out, out, seed_file), "another folder", capsys)
    fails(encaps(tmp_path / "none", tmp_path / "x", seed_file), "no Parquet files", capsys)
    bad = tmp_path / "bad"
    bad.mkdir()
    table = pq.read_table(out / "part-00000000.parquet")
    # The row is in the second batch of the file.
    count = _job.ROWS_ON_CPU + 8
    rows = [*table.column("public_key").to_pylist()[:1] * (count - 1), bytes(1158)]
    table = pa.table({"row": range(count), "public_key": pa.array(rows, pa.binary(1158))})
    pq.write_table(table, bad / "a.parquet")
    told = f"a.parquet: row {count - 1} of the column 'public_key' is not a key"
    fails(encaps(bad, tmp_path / "y", seed_file), told, capsys)
    assert not list((tmp_path / "y").glob("*parquet*"))
    fails(encaps(out, bad, seed_file), "Parquet files of no job", capsys)
    # Files of the job itself that are damaged are named.
    first = out / "part-00000000.parquet"
    whole = first.read_bytes()
    for content in (b"", whole[: len(whole) // 2], whole[:-8] + bytes(8)):
        first.write_bytes(content)
        fails(job, f"the file {first} of this job cannot be read", capsys)
    first.unlink()
    assert main(job) == 0
    assert first.read_bytes() == whole
    for content in (b'{"cont', b"[1]", b"\xff", b"3"):
        (out / _job.RECORD).write_bytes(content)
        fails(job, f"the file {out / _job.RECORD} is not the record of a job", capsys)


def test_standard_output_is_closed(tmp_path, seed_file, capsys, monkeypatch):
    """A job that cannot tell its result does not begin."""
    out = tmp_path / "keys"
    command = ["keygen", "--count", "10", *options(seed_file, out)]
    with monkeypatch.context() as closed:
        closed.setattr(sys, "stdout", None)
        fails(command, "standard output is closed", capsys)
    assert not out.exists()


def test_another_set_than_that_of_the_input(tmp_path, seed_file):
    """Keys of sntrup761 have the size of those of CTRU-Prime-761 and pass for such, and the other
    way round. A copy of a file still tells its set, and a file of another program tells none."""
    keys = make_keys(tmp_path / "keys", seed_file, set="sntrup761")
    copies = tmp_path / "copies"
    copies.mkdir()
    for file in keys.glob("*.parquet"):
        (copies / file.name).write_bytes(file.read_bytes())
    pq.write_table(pq.read_table(copies).replace_schema_metadata(), copies / "other.parquet")

    def run(set):
        work = _job.Work("encaps", set, seed_file=seed_file, context=CONTEXT, device="cpu")
        worker, job = _job.PartWorker(work, None), _job.over_files(work, copies, None)
        return [lambda part=part: worker.run(part) for part in job.parts]

    other, *wrong = run("761")
    assert len(wrong) == 2
    for part in wrong:
        refused(_job.JobError, "from a job for the set sntrup761, not for 761$", part)
    assert other().rows == 100
    assert [part().rows for part in run("sntrup761")] == [100, 50, 50]


def test_results_that_are_not_kept(cluster, keys, seed_file, expected, capsys):
    command = encaps(keys, "nowhere", seed_file, actors=2)
    at = command.index("--out")
    told = result(command[:at] + command[at + 2 :], capsys)
    assert (told["rows"], int(told["digest"], 16)) == (ROWS, expected)


def test_row_groups_are_larger_than_batches(tmp_path, seed_file):
    (path,) = make_keys(tmp_path / "keys", seed_file, 20_000, 20_000).glob("*.parquet")
    metadata = pq.read_metadata(path)
    groups = [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)]
    assert sum(groups) == 20_000
    assert len(groups) > 1
    assert all(_job.ROWS_OF_GROUP <= rows < 2 * _job.ROWS_OF_GROUP for rows in groups[:-1])


def test_files_with_secrets_are_private(cluster, tmp_path, seed_file):
    keys = make_keys(tmp_path / "keys", seed_file, 64, 64, include_secrets=True)
    (path,) = keys.glob("*.parquet")
    assert path.stat().st_mode & 0o777 == 0o600
    sent, received = tmp_path / "sent", tmp_path / "received"
    assert main(encaps(keys, sent, seed_file)) == 0
    job = ["decaps", "--ciphertexts", str(sent), "--include-secrets"]
    assert main([*job, *options(seed_file, received)]) == 0
    secrets = pq.read_table(received).column("shared_secret").combine_chunks()
    keys = ctru.arrow.generate(numbered(0, 64), **SEEDS)
    assert secrets == ctru.arrow.encapsulate(keys, **SEEDS).column("shared_secret")


# Tests that kill a node come last: Ray takes seconds to notice that, and would hold up others.


# When 8 of the 16 files are there, the four actors have two parts each, and no part is left.
@pytest.mark.parametrize("files", [3, 8])
def test_a_job_loses_a_node(kill, keys, tmp_path, seed_file, expected, capsys, slow, files):
    out = tmp_path / "sent"
    killed = []
    slow(0.5, actors=4)
    thread = when_there(out, files, lambda: (kill(), killed.extend(out.glob("*.parquet"))))
    told = result(encaps(keys, out, seed_file, actors=4), capsys)
    thread.join()
    assert len(killed) < FILES
    assert (told["rows"], told["files"]) == (ROWS, FILES)
    assert int(told["digest"], 16) == expected
    check_files(out, expected)


def test_a_data_set_loses_a_node(kill, tmp_path, seed_file):
    count = 12_000
    options = {**of_data(seed_file, 1000), "actors": 2}

    def note(table):
        """Notes that a batch has come so far, and takes its time."""
        (tmp_path / uuid.uuid4().hex).touch()
        time.sleep(1)
        return table

    data = ctru.ray.generate_public_keys(count, **options)
    data = data.map_batches(note, batch_format="pyarrow", batch_size=1000)
    data = ctru.ray.encapsulate(data, include_secrets=True, **options)
    done = []
    job = threading.Thread(target=lambda: done.append(data.materialize()))
    job.start()
    while len(list(tmp_path.iterdir())) < 4:
        time.sleep(0.02)
    assert job.is_alive()
    kill()
    job.join()
    rows = done[0].to_arrow_refs()
    table = pa.concat_tables([ray.get(ref) for ref in rows]).sort_by("row")
    assert table.column("row").to_pylist() == list(range(count))
    keys = ctru.arrow.generate(numbered(0, count), **SEEDS)
    sent = ctru.arrow.encapsulate(keys, **SEEDS)
    assert table.column("ciphertext").combine_chunks() == sent.column("ciphertext")
    columns = ["ciphertext", "shared_secret"]
    assert ctru.ray.digest(done[0], columns) == ctru.arrow.digest(sent, columns)


def test_logs_have_no_seed(cluster):
    """Searches all that Ray has written during these tests."""
    session = Path(ray._private.worker._global_node.get_session_dir_path())
    searched = 0
    for path in session.rglob("*"):
        if path.is_file():
            content = path.read_bytes()
            searched += 1
            assert SEED not in content
            assert SEED.hex().encode() not in content
            assert repr(SEED).encode() not in content
    assert searched > 10
