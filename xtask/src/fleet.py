"""The corpus on three engines and on none: `fleet.py HSACO FOLDER FILE…`, which `cargo xtask fleet` runs.

Each engine has as many workers as the machine has cores, and scans the files twice: once to be timed, and once with garbage among the files
while one of its workers is killed. Every data set must be that of `hsaco table`.
"""

import os
import shutil
import signal
import subprocess
import sys
import time

import pyarrow.parquet as parquet

from hsaco import fleet

HSACO, FOLDER, FILES = sys.argv[1], sys.argv[2], sys.argv[3:]
CORES = len(os.sched_getaffinity(0))
# So much slower than the command, of each core, an engine may be.
ALLOWED = 1.20


def rows(dataset):
    """Every table, sorted: a text for each row."""
    found = []
    for folder, _, names in os.walk(dataset):
        for name in sorted(names):
            path = os.path.join(folder, name)
            table = os.path.relpath(path, dataset).split(os.sep)[0]
            if name == "rows.parquet":
                found += [f"{table} {row}" for row in parquet.read_table(path).to_pylist()]
            else:
                # Rows by digest are the same bytes.
                with open(path, "rb") as file:
                    found.append(f"{table} {name} {hash(file.read())}")
    return sorted(found)


def fresh(name):
    path = os.path.join(FOLDER, name)
    shutil.rmtree(path, ignore_errors=True)
    return path


def command(files, name):
    dataset = fresh(name)
    start = time.monotonic()
    subprocess.run([HSACO, "table", *files, "-o", dataset], check=True, stderr=subprocess.DEVNULL)
    return dataset, time.monotonic() - start


def killing(engine, marker):
    """The engine, one of whose workers dies at its first file."""

    def run(work, chunks):
        def fatal(paths):
            try:
                os.close(os.open(marker, os.O_CREAT | os.O_EXCL))
            except FileExistsError:
                return work(paths)
            os.kill(os.getpid(), signal.SIGKILL)

        return engine(fatal, chunks)

    return run


def with_dask(use):
    import distributed

    options = {"n_workers": CORES, "threads_per_worker": 1, "dashboard_address": None}
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:
        use(fleet.dask(client))


def with_ray(use):
    import ray

    ray.init(num_cpus=CORES, include_dashboard=False, logging_level="ERROR", object_store_memory=512 << 20)
    use(fleet.ray())
    ray.shutdown()


def with_spark(use):
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master(f"local[{CORES},4]").config("spark.ui.enabled", "false")
    session = builder.config("spark.sql.execution.arrow.maxRecordsPerBatch", "1").getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    use(fleet.spark(session))
    session.stop()


def main():
    garbage = os.path.join(FOLDER, "garbage.so")
    with open(garbage, "wb") as file:
        file.write(b"\x7fELF" + bytes(range(256)) * 4096)
    command(FILES, "warm")
    alone, wall = command(FILES, "command")
    size = sum(os.path.getsize(path) for path in FILES)
    print(f"hsaco table: {len(FILES)} files, {size >> 20} MiB, {wall:.2f} s, {size / wall / CORES / 1e6:.0f} MB/s of a core")
    broken, _ = command([*FILES, garbage], "command-garbage")
    failed = False
    for name, engine in {"dask": with_dask, "ray": with_ray, "spark": with_spark}.items():

        def use(run):
            nonlocal failed
            # Processes, their imports and their first task are no work of ours.
            fleet.scan(FILES[:CORES], fresh(name + "-warm"), engine=run)
            dataset = fresh(name)
            start = time.monotonic()
            fleet.scan(FILES, dataset, engine=run)
            took = time.monotonic() - start
            is_same = rows(dataset) == rows(alone)
            marker = os.path.join(FOLDER, name + ".killed")
            if os.path.exists(marker):
                os.remove(marker)
            hurt = fresh(name + "-killed")
            fleet.scan([*FILES, garbage], hurt, engine=killing(run, marker))
            is_same_hurt = rows(hurt) == rows(broken) and os.path.exists(marker)
            is_fast = took <= wall * ALLOWED
            failed |= not (is_same and is_same_hurt and is_fast)
            rate = f"{took:.2f} s, {size / took / CORES / 1e6:.0f} MB/s of a core, {took / wall:.2f} of the command's time"
            print(f"{name}: {rate}; same data set: {is_same}; with a worker killed and garbage: {is_same_hurt}")

        engine(use)
    sys.exit(failed)


if __name__ == "__main__":
    main()
