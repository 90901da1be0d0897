"""Jobs from Parquet files to Parquet files, which can be stopped and resumed.

A job has parts: rows of a fixed number for key generation, and files otherwise. Each part becomes
one file, at the same place in the folder of the results as in that of the input. An actor writes it
under another name and gives it its name when it is complete, so a file is complete or absent. The
first file of a part stays, even if an actor that was given up goes on. A job that begins again in
the same folder does the parts that are absent, if seed and input are those of the parts that are
there.
"""

from __future__ import annotations

import json
import re
import sys
import time
from collections import deque
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
import ray
from ray.exceptions import RayActorError, RayTaskError

from .. import arrow
from . import _files
from ._errors import JobError
from ._place import placement
from ._work import Work, Worker

#: Rows that are computed at a time, on a GPU and on CPUs. Few rows stay in the cache of a CPU, and
#: their memory is used again without a return to the system.
ROWS_ON_GPU = 1 << 17
ROWS_ON_CPU = 1 << 10
#: The fewest rows of a row group of a file. The last one may have fewer.
ROWS_OF_GROUP = 1 << 13
#: How often a part may be lost with its actor, and how many rounds of actors may be lost while they
#: start, without one that is ready and without a part that is done.
ATTEMPTS = 10
#: The file that says what a folder is for. Readers of Parquet folders skip such names.
RECORD = "_job.json"


@dataclass(frozen=True)
class Part:
    """A part of a job: rows from `first` to `end`, or a file with a fingerprint."""

    name: str
    first: int = 0
    end: int = 0
    source: str | None = None
    fingerprint: str | None = None


@dataclass(frozen=True)
class Done:
    """What is known of a part that is done: also the fingerprints of its seed and its input."""

    rows: int
    digest: int
    seed: str | None
    source: str | None


@dataclass
class Job:
    """A job: its work, its parts, and the folder of its results, if they are kept."""

    work: Work
    parts: list[Part]
    out: Path | None
    record: dict[str, Any]
    done: dict[str, Done] = field(default_factory=dict)
    #: The fingerprints of all seeds that were seen. `None` stands for no seed.
    seeds: set[str | None] = field(default_factory=set)

    def begin(self) -> None:
        """Prepares the folder of the results, and finds the parts that are done.

        Raises `JobError` if the folder belongs to another job, if a part comes from another seed
        or another input, or if a file of the job cannot be read.
        """
        if self.out is None:
            return
        record = {**self.work.identity(), **self.record}
        path = self.out / RECORD
        if not path.exists():
            if any(_files.is_parquet(path) for path, _ in _files.files(self.out)):
                raise JobError(f"the folder {self.out} has Parquet files of no job")
            content = json.dumps(record, indent=1, sort_keys=True).encode() + b"\n"
            _files.create(path, 0o666, lambda file: file.write(content))
        # Another job may have been faster.
        with open(path, "rb", opener=_files.open_regular) as file:
            try:
                before = dict(json.load(file))
            except (TypeError, ValueError):
                raise JobError(f"the file {path} is not the record of a job") from None
        if before != record:
            raise JobError(f"the folder {self.out} belongs to {_difference(before, record)}")
        for part in self.parts:
            path = self.out / part.name
            if path.exists():
                self.take(part, read_done(path))

    def take(self, part: Part, done: Done) -> None:
        """Notes that a part is done.

        Raises `JobError` if it comes from another seed than the others, or from another input.
        """
        if done.source != part.fingerprint:
            raise JobError(f"the file {part.name} of this job was made from another input")
        self.see_seed(done.seed, "the parts of this job come from different seeds")
        self.done[part.name] = done

    def see_seed(self, seed: str | None, told: str) -> None:
        """Notes the fingerprint of a seed. Raises `JobError` with this text if there is another
        one."""
        self.seeds.add(seed)
        if len(self.seeds) > 1:
            raise JobError(told)

    def rows(self) -> int:
        """Returns the number of rows that are done."""
        return sum(done.rows for done in self.done.values())

    def digest(self) -> int:
        """Returns the digest of the rows that are done."""
        return sum(done.digest for done in self.done.values()) % 2**256


def _difference(before: dict[str, Any], record: dict[str, Any]) -> str:
    """Returns what the record of a folder is, compared with that of a job."""
    names = sorted(key for key in {*before, *record} if before.get(key) != record.get(key))
    files, own = before.get("files"), record.get("files")
    if names == ["files"] and isinstance(files, dict) and isinstance(own, dict):
        changed = sorted(name for name in own if name in files and files[name] != own[name])
        if changed:
            count = f"{len(changed)} of {len(own)} input files have"
            return f"a job with another input: {count} changed since, such as {changed[0]}"
        return "a job with another input: files were added or removed"
    return f"a job with another {', '.join(names)}"


def key_generation(work: Work, count: int, rows_per_file: int, out: Path | None) -> Job:
    """Returns the job that generates `count` key pairs."""
    if count < 0 or rows_per_file < 1:
        raise ValueError("the number of rows is negative, or files would have no rows")
    starts = range(0, count, rows_per_file)
    parts = [
        Part(f"part-{number:08}.parquet", first, min(count, first + rows_per_file))
        for number, first in enumerate(starts)
    ]
    return Job(work, parts, out, {"count": count, "rows_per_file": rows_per_file})


def over_files(work: Work, source: Path, out: Path | None) -> Job:
    """Returns the job that reads each Parquet file in the folder `source` and in those below it."""
    if out is not None and out.resolve().is_relative_to(source.resolve()):
        raise ValueError("the results need another folder than the input, and none inside it")
    names = _files.inputs(source) if source.is_dir() else []
    if not names:
        raise ValueError(f"there are no Parquet files in a folder {source}")
    files = [(source / name).resolve() for name in names]
    # Most of the time passes until a file system on a network answers.
    with ThreadPoolExecutor(16) as pool:
        fingerprints = list(pool.map(_files.fingerprint, files))
    parts = [
        Part(name, source=str(file), fingerprint=of_file)
        for name, file, of_file in zip(names, files, fingerprints, strict=True)
    ]
    return Job(work, parts, out, {"files": {part.name: part.fingerprint for part in parts}})


def read_done(path: Path) -> Done:
    """Returns what the footer of a complete file says. Raises `JobError` if it says nothing."""
    with open(path, "rb", opener=_files.open_regular) as file:
        try:
            metadata = pq.read_metadata(file)
        except (OSError, pa.ArrowInvalid) as error:
            raise JobError(f"the file {path} of this job cannot be read: {error}") from None
    notes = metadata.metadata or {}
    if b"ctru.digest" not in notes:
        raise JobError(f"the file {path} was not written by a job")
    seed, source = (notes.get(key, b"").decode() or None for key in (b"ctru.seed", b"ctru.source"))
    return Done(metadata.num_rows, int(notes[b"ctru.digest"], 16), seed, source)


class PartWorker:
    """An actor that does parts of a job."""

    def __init__(self, work: Work, out: str | None) -> None:
        self._worker = Worker(work)
        self._set = work.set
        self._columns = work.outputs()
        self._inputs = work.inputs()
        self._out = None if out is None else Path(out)
        self._is_secret = work.include_secrets
        self._rows = ROWS_ON_CPU if work.device == "cpu" else ROWS_ON_GPU

    def ready(self) -> str | None:
        """Returns the fingerprint of the seed on this node."""
        return self._worker.fingerprint()

    def run(self, part: Part) -> Done:
        """Computes a part and writes its file. Returns what is known of the file that is there.

        Raises `JobError` with the name of the part if it cannot be done.
        """
        try:
            return self._run(part)
        except Exception as error:
            raise JobError(f"{part.name}: {error}") from error

    def _run(self, part: Part) -> Done:
        """Does as `run`, with the errors of others."""
        if part.source is not None and _files.fingerprint(part.source) != part.fingerprint:
            raise JobError(f"the file {part.source} has changed since the job began")
        if self._out is None:
            return self._each(part, lambda _: None)
        # On a node without the file system, a new folder would take results that nobody finds.
        if not (self._out / RECORD).exists():
            raise JobError(f"the folder {self._out} on this node is not that of the job")
        path = self._out / part.name
        path.parent.mkdir(parents=True, exist_ok=True)
        # Nobody else may read a file with secrets.
        mode = 0o600 if self._is_secret else 0o666
        done, has_name = _files.create(path, mode, lambda file: self._into(file, part))
        return done if has_name else read_done(path)

    def _into(self, file: Any, part: Part) -> Done:
        """Computes a part and writes it to an open file."""
        writer: pq.ParquetWriter | None = None
        group: list[pa.RecordBatch] = []

        def write_group() -> None:
            nonlocal writer
            table = pa.Table.from_batches(group)
            group.clear()
            if writer is None:
                # The columns are random bytes, which no code makes shorter.
                writer = pq.ParquetWriter(
                    file, table.schema, compression="none", use_dictionary=False
                )
            writer.write_table(table)

        def write(batch: pa.RecordBatch) -> None:
            group.append(batch)
            if sum(batch.num_rows for batch in group) >= ROWS_OF_GROUP:
                write_group()

        done = self._each(part, write)
        if group:
            write_group()
        assert writer is not None
        notes = {"ctru.set": self._set, "ctru.digest": f"{done.digest:064x}"}
        if done.seed is not None:
            notes["ctru.seed"] = done.seed
        if done.source is not None:
            notes["ctru.source"] = done.source
        writer.add_key_value_metadata(notes)
        writer.close()
        return done

    def _each(self, part: Part, keep: Any) -> Done:
        """Computes a part, and calls `keep` with each batch of results, and at least once."""
        rows = total = 0
        for batch in self._batches(part):
            try:
                result = self._worker(batch)
            except (TypeError, ValueError) as error:
                text = str(error)
                if found := re.match(r"row (\d+)", text):
                    # It is a row of the batch.
                    text = f"row {rows + int(found[1])}{text[found.end() :]}"
                raise JobError(text) from error
            keep(result)
            rows += result.num_rows
            total += arrow.digest(result, self._columns)
        return Done(rows, total % 2**256, self._worker.fingerprint(), part.fingerprint)

    def _batches(self, part: Part) -> Iterator[pa.RecordBatch]:
        """Returns the rows of a part, in batches. There is at least one batch."""
        if part.source is None:
            for first in range(part.first, part.end, self._rows):
                numbers = pa.array(range(first, min(part.end, first + self._rows)), pa.uint64())
                yield pa.RecordBatch.from_arrays([numbers], ["row"])
            return
        # An open file has no name, which could be none in UTF-8.
        with (
            open(part.source, "rb", opener=_files.open_regular) as source,
            pq.ParquetFile(source) as file,
        ):
            # Columns of two sets can have one size, and any such bytes are a key of NTRU Prime, so
            # nothing else tells them apart.
            set = (file.metadata.metadata or {}).get(b"ctru.set", b"").decode() or self._set
            if set != self._set:
                raise JobError(f"it comes from a job for the set {set}, not for {self._set}")
            columns = ["row", *self._inputs]
            if not file.metadata.num_rows:
                schema = pa.schema([file.schema_arrow.field(name) for name in columns])
                yield pa.RecordBatch.from_pylist([], schema)
            yield from file.iter_batches(batch_size=self._rows, columns=columns)


class Driver:
    """Gives the parts of a job to actors, and replaces actors that are lost."""

    def __init__(self, job: Job, actors: int | None, threads: int | None) -> None:
        # A part is computed and written by the same actor, so no other tasks need a CPU.
        self._work, self._count, resources = placement(job.work, actors, threads, spare=0)
        self._job = job
        # Two parts at a time, so that one is written, or digested, while a GPU computes the other.
        # A thread of a CPU that writes no files would only change from one to the other.
        is_busy = self._work.device == "cpu" and self._work.threads == 1 and job.out is None
        self._at_once = 1 if is_busy else 2
        remote: Any = ray.remote(PartWorker)
        self._class = remote.options(max_concurrency=3, scheduling_strategy="SPREAD", **resources)
        self._todo = deque(part for part in job.parts if part.name not in job.done)
        #: Whether an actor has yet to show that its seed is that of the parts that are done.
        self._must_check = self._work.seed_file is not None and bool(job.done)
        self._lost: dict[str, int] = {}
        #: What is under way: the actor, and the part or `None` for the start of the actor.
        self._under_way: dict[Any, tuple[Any, Part | None]] = {}
        #: The round of each start under way, and the last round. The first actor that is lost while
        #: it starts ends a round, and is the only one of it that counts: a lost node takes many.
        self._round_of: dict[Any, int] = {}
        self._round = 0
        #: The rounds that have ended since an actor was ready, or a part was done.
        self._lost_rounds = 0
        self._actors: list[Any] = []
        #: When the first actor was ready, on the clock of `time.monotonic`.
        self.ready_at: float | None = None

    def run(self, progress: Progress) -> None:
        """Does the parts that are absent. Raises the error of a part that cannot be done, and
        `JobError` if the parts that are done come from another seed."""
        progress.show(self._job)
        try:
            while self._left():
                self._start_actors()
                self._give_to_idle()
                refs = list(self._under_way)
                ready, _ = ray.wait(refs, num_returns=1, timeout=1.0)
                for ref in ready:
                    self._settle(ref)
                progress.show(self._job)
        finally:
            for actor in self._actors:
                ray.kill(actor)

    def _left(self) -> int:
        """Returns how many parts are left, or 1 if there is only a seed to check."""
        parts = len(self._todo) + sum(1 for _, part in self._under_way.values() if part)
        return max(parts, self._must_check)

    def _start_actors(self) -> None:
        """Starts actors until there are enough for what is left."""
        while len(self._actors) < min(self._count, self._left()):
            out = None if self._job.out is None else str(self._job.out.resolve())
            actor = self._class.remote(self._work, out)
            self._actors.append(actor)
            start = actor.ready.remote()
            self._under_way[start] = (actor, None)
            self._round_of[start] = self._round

    def _settle(self, ref: Any) -> None:
        """Takes the result of what is under way, and gives its actor more to do."""
        actor, part = self._under_way.pop(ref)
        its_round = self._round_of.pop(ref, None)
        try:
            result = ray.get(ref)
        except RayActorError as error:
            self._forget(actor)
            if part is not None:
                self._lose(part, error)
            elif error.actor_init_failed and self.ready_at is None:
                # The text of the error ends with the exception of the actor.
                told = str(error).rstrip().rpartition("\n")[2]
                raise JobError(f"an actor cannot start: {told}") from None
            else:
                self._lose_start(its_round, error)
            return
        except RayTaskError as error:
            raise (error.cause or error) from None
        self._lost_rounds = 0
        if part is None:
            self.ready_at = self.ready_at or time.monotonic()
            self._check_seed(result)
            self._must_check = False
            for _ in range(self._at_once):
                self._give(actor)
        else:
            self._job.take(part, result)
            self._give(actor)

    def _check_seed(self, seed: str | None) -> None:
        """Checks that an actor has the seed of the parts that are done, and of other actors."""
        if self._job.done:
            told = "the seed file is not the one of the parts that are done"
        else:
            told = "the seed files of two nodes differ"
        self._job.see_seed(seed, told)

    def _give(self, actor: Any) -> None:
        """Gives a part to an actor, if there is one left."""
        if self._todo and actor in self._actors:
            part = self._todo.popleft()
            self._under_way[actor.run.remote(part)] = (actor, part)

    def _give_to_idle(self) -> None:
        """Gives parts to actors that have nothing to do. There are such parts when an actor is
        lost after the last part was given away."""
        busy = [actor for actor, _ in self._under_way.values()]
        for actor in self._actors:
            if actor not in busy:
                self._give(actor)

    def _forget(self, actor: Any) -> None:
        """Forgets an actor that is lost."""
        if actor in self._actors:
            self._actors.remove(actor)
            ray.kill(actor)

    def _lose(self, part: Part, error: Exception) -> None:
        """Puts the part of a lost actor back."""
        self._lost[part.name] = self._lost.get(part.name, 0) + 1
        if self._lost[part.name] > ATTEMPTS:
            raise JobError(f"the actors of {part.name} were lost too often: {error}") from error
        self._todo.appendleft(part)

    def _lose_start(self, its_round: int | None, error: Exception) -> None:
        """Counts that an actor was lost while it started."""
        if its_round != self._round:
            return
        self._round += 1
        self._lost_rounds += 1
        if self._lost_rounds > ATTEMPTS:
            raise JobError(f"actors were lost too often while they started: {error}") from error


class Progress:
    """Writes a line to standard error that says how far a job is."""

    def __init__(self, quiet: bool) -> None:
        self._quiet = quiet
        self._start = time.monotonic()
        self._first: int | None = None
        self._last = 0.0
        self._is_terminal = sys.stderr.isatty()

    def show(self, job: Job) -> None:
        """Writes the line, at most once a second, or every ten seconds to a file."""
        now = time.monotonic()
        rows = job.rows()
        if self._first is None:
            self._first = rows
        if self._quiet or now - self._last < (1.0 if self._is_terminal else 10.0):
            return
        self._last = now
        rate = (rows - self._first) / max(now - self._start, 1e-3)
        line = f"{len(job.done)} of {len(job.parts)} files, {rows} rows, {rate:,.0f} rows/s"
        end = "\r" if self._is_terminal else "\n"
        print(line, end=end, file=sys.stderr, flush=True)


def run(job: Job, *, actors: int | None, threads: int | None, quiet: bool) -> float:
    """Runs a job to its end, on the cluster to which this process is connected. Returns the seconds
    until the first actor was ready."""
    start = time.monotonic()
    progress = Progress(quiet)
    with ExitStack() as stack:
        if job.out is not None:
            job.out.mkdir(parents=True, exist_ok=True)
            is_alone = stack.enter_context(_files.locked(job.out))
            job.begin()
            if is_alone:
                # What actors that are gone have begun: before this run, and in it, however it ends.
                names = [RECORD, *(part.name for part in job.parts)]
                remove = partial(_files.remove_unfinished, [job.out / name for name in names])
                remove()
                stack.callback(remove)
        driver = Driver(job, actors, threads)
        driver.run(progress)
    return (driver.ready_at or start) - start
