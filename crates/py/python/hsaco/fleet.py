"""Many files as one data set, on an engine that exists: Dask, Ray or Spark.

    from hsaco import fleet
    fleet.scan(["/srv/mirror"], "dataset", engine=fleet.dask(client))

The engine maps over files and repeats what was lost with a worker; batches of Arrow come back, and the data set is the one that
``hsaco table`` writes: ``TABLE/part=ab/DIGEST.parquet``, with the table of paths in ``files/rows.parquet``. A content that is in the
data set is not read again, so a scan that was stopped goes on. A file that cannot be read is a row.

It needs pyarrow, and the engine that is used; Spark wants pandas beside it. Without an engine, one process does the work.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from importlib import import_module
from typing import Any, Callable, NamedTuple, Optional, Union

from ._hsaco import scan_file

__all__ = ["Engine", "Summary", "dask", "local", "ray", "scan", "scan_batch", "spark"]

#: A ``pyarrow.RecordBatch``: the package does without pyarrow, except here.
Batch = Any
#: From paths to a batch.
Work = Callable[[Sequence[str]], Batch]
#: Maps work over chunks of paths, and yields the batches in any order.
Engine = Callable[[Work, Sequence[Sequence[str]]], Iterable[Batch]]

_TABLES = ("contents", "objects", "kernels")


class Summary(NamedTuple):
    """What a scan came to."""

    files: int
    """Files of the data set."""
    known: int
    """Those whose content was not read again."""
    broken: int
    """Those that could not be opened."""


def _schema() -> Any:
    pa = import_module("pyarrow")
    text = [("path", pa.string()), ("digest", pa.string()), ("error", pa.string())]
    return pa.schema(text + [(name, pa.binary()) for name in _TABLES])


def scan_batch(paths: Sequence[str], known: Iterable[str] = ()) -> Batch:
    """What files hold, a row for each that may hold device code: its path, digest and error, and its tables as Parquet."""
    pa = import_module("pyarrow")
    seen = set(known)
    rows: list[tuple[Any, ...]] = []
    for path in paths:
        scanned = scan_file(path, seen)
        if scanned is not None:
            digest, error, tables = scanned
            rows.append((path, digest, error, *(tables or (None, None, None))))
            # The same content again, in another file of the batch.
            if digest is not None:
                seen.add(digest)
    schema = _schema()
    columns = list(zip(*rows)) or [()] * len(schema)
    return pa.record_batch([pa.array(column, field.type) for column, field in zip(columns, schema)], schema=schema)


def local(work: Work, chunks: Sequence[Sequence[str]]) -> Iterator[Batch]:
    """No engine: one chunk after the other."""
    return map(work, chunks)


def dask(client: Any, retries: int = 3) -> Engine:
    """On a Dask cluster, which repeats a chunk so often."""

    def run(work: Any, chunks: Sequence[Sequence[str]]) -> Iterator[Batch]:
        futures = client.map(work, chunks, retries=retries, pure=False)
        for future in import_module("distributed").as_completed(futures):
            yield future.result()
            future.release()

    return run


def ray(retries: int = 3) -> Engine:
    """On the Ray cluster that the process is connected to, which repeats a chunk so often."""

    def run(work: Any, chunks: Sequence[Sequence[str]]) -> Iterator[Batch]:
        engine = import_module("ray")
        remote = engine.remote(max_retries=retries)(work)
        waiting = [remote.remote(chunk) for chunk in chunks]
        while waiting:
            done, waiting = engine.wait(waiting)
            yield from engine.get(done)

    return run


def spark(session: Any, wave: Optional[int] = None) -> Engine:
    """On a Spark session; how often a task is repeated is its ``spark.task.maxFailures``.

    A job works on ``wave`` chunks, side by side, and what it found is written before the next: by default 16 for each core.
    """

    def run(work: Any, chunks: Sequence[Sequence[str]]) -> Iterator[Batch]:
        def partition(batches: Iterator[Any]) -> Iterator[Any]:
            for batch in batches:
                for chunk in batch.column("paths").to_pylist():
                    yield work(chunk)

        fields = ", ".join(f"{field.name} {'binary' if field.name in _TABLES else 'string'}" for field in _schema())
        size = wave or 16 * session.sparkContext.defaultParallelism
        for start in range(0, len(chunks), size):
            rows = [(list(chunk),) for chunk in chunks[start : start + size]]
            frame = session.createDataFrame(rows, "paths array<string>").repartition(len(rows))
            yield from frame.mapInArrow(partition, fields).toArrow().to_batches()

    return run


def _files(paths: Iterable[Union[str, os.PathLike[str]]]) -> Iterator[str]:
    """Files, and those of folders, whose links are not followed."""
    for path in (os.fspath(it) for it in paths):
        if not os.path.isdir(path):
            yield path
            continue
        for folder, folders, names in os.walk(path):
            folders.sort()
            for name in sorted(names):
                found = os.path.join(folder, name)
                if not os.path.islink(found) and os.path.isfile(found):
                    yield found


def _part(dataset: str, table: str, digest: str) -> str:
    return os.path.join(dataset, table, f"part={digest[:2]}", f"{digest}.parquet")


def _write(path: str, content: bytes) -> None:
    """Whole or not at all."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    descriptor, beside = tempfile.mkstemp(dir=os.path.dirname(path), prefix=".")
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
    os.chmod(beside, 0o644)
    os.replace(beside, path)


def _known(dataset: str) -> set[str]:
    """The digests of contents that are in the data set."""
    found: set[str] = set()
    for _, _, names in os.walk(os.path.join(dataset, "contents")):
        found.update(name[: -len(".parquet")] for name in names if name.endswith(".parquet") and name[0] != ".")
    return found


class _Work:
    """What an engine runs on its workers."""

    def __init__(self, known: frozenset[str]) -> None:
        self.known = known

    def __call__(self, paths: Sequence[str]) -> Batch:
        return scan_batch(paths, self.known)


def scan(
    paths: Iterable[Union[str, os.PathLike[str]]],
    dataset: Union[str, os.PathLike[str]],
    engine: Engine = local,
    chunk: int = 1,
) -> Summary:
    """Puts what files and folders hold into a data set, with an engine that works on ``chunk`` files at a time.

    Paths must mean the same to all workers. The data set is written by the caller, as batches come in.
    """
    pa, parquet = import_module("pyarrow"), import_module("pyarrow.parquet")
    folder = os.fspath(dataset)
    files = list(_files(paths))
    before = frozenset(_known(folder))
    done = set(before)
    rows: dict[str, tuple[Optional[str], Optional[str]]] = {}
    known = broken = 0
    work = _Work(before)
    chunks = [files[at : at + chunk] for at in range(0, len(files), chunk)]
    for batch in engine(lambda paths: work(paths), chunks):
        for row in batch.to_pylist():
            digest = row["digest"]
            rows[row["path"]] = (digest, row["error"])
            broken += digest is None
            if digest is None or digest in done:
                known += digest in before
                continue
            # The contents last: with them, the file is done.
            for table in ("objects", "kernels", "contents"):
                _write(_part(folder, table, digest), row[table])
            done.add(digest)
    order = [path for path in files if path in rows]
    where = pa.table(
        {
            "path": pa.array(order, pa.string()),
            "digest": pa.array([rows[path][0] for path in order], pa.string()),
            "error": pa.array([rows[path][1] for path in order], pa.string()),
        }
    )
    sink = pa.BufferOutputStream()
    parquet.write_table(where, sink, compression="zstd")
    _write(os.path.join(folder, "files", "rows.parquet"), sink.getvalue().to_pybytes())
    return Summary(len(rows), known, broken)
