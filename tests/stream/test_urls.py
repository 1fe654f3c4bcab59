"""Data at URLs: a real S3 server on loopback, one that fails, one of the web, and memory."""

from __future__ import annotations

import bz2
import gzip
import itertools
import pickle
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_line import run as run_cli

from sureline import scale, train
from sureline.stream import DataError, read, urls

fsspec = pytest.importorskip("fsspec")
pytestmark = [
    pytest.mark.filterwarnings("ignore:datetime.datetime.utcnow:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


def lines(n: int, seed: int = 0) -> bytes:
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(n):
        columns = np.sort(rng.choice(200, 8, replace=False)) + 1
        values = rng.normal(size=8)
        label = 1 if values[columns % 3 == 0].sum() > 0 else -1
        rows.append(f"{label} " + " ".join(f"{c}:{v:.6g}" for c, v in zip(columns, values, strict=True)))
    return ("\n".join(rows) + "\n").encode()


TEXT = lines(60_000)  # more than one piece of 4 MiB


@pytest.fixture
def memory() -> Iterator[Any]:
    fs = fsspec.filesystem("memory")
    yield fs
    fs.store.clear()
    fs.pseudo_dirs[:] = [""]


@pytest.fixture(scope="module")
def s3() -> Iterator[tuple[Any, str]]:
    """A client with a bucket `logs`, and the address of the server."""
    pytest.importorskip("s3fs")
    server = pytest.importorskip("moto.server").ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    import boto3

    server.start()
    address = "http://{}:{}".format(*server.get_host_and_port())
    client = boto3.client("s3", endpoint_url=address, region_name="us-east-1", **_KEYS)
    client.create_bucket(Bucket="logs")
    try:
        yield client, address
    finally:
        server.stop()


_KEYS = {"aws_access_key_id": "test", "aws_secret_access_key": "test"}


def use(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", address)
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    for name, value in _KEYS.items():
        monkeypatch.setenv(name.upper(), value)
    import s3fs

    s3fs.S3FileSystem.clear_instance_cache()


def rows_of(stream: Any) -> bytes:
    return b"".join(c.X.data.tobytes() + c.X.indices.tobytes() + np.asarray(c.y).tobytes() for c in stream)


def model_of(path: Path) -> bytes:
    return path.read_bytes()


def test_text_compressed_text_and_globs_are_read_as_local_files_are(memory: Any, tmp_path: Path) -> None:
    for name, data in (("a.svm", TEXT), ("b.svm.gz", gzip.compress(TEXT)), ("c.svm.bz2", bz2.compress(TEXT))):
        memory.pipe(f"/d/{name}", data)
        (tmp_path / name).write_bytes(data)
    far = read("memory://d/*")
    near = read(str(tmp_path / "*"))
    assert [path.rpartition("/")[2] for path in far.paths] == ["a.svm", "b.svm.gz", "c.svm.bz2"]
    assert rows_of(far) == rows_of(near)


def test_a_damaged_line_is_told_with_its_url_line_and_column(memory: Any) -> None:
    memory.pipe("/a.svm", TEXT + b"1 3:x\n")
    with pytest.raises(DataError, match=r"^memory://a\.svm:60001:5: "):
        rows_of(read("memory://a.svm").shards(3)[2])


def test_shards_of_ranges_have_all_rows_once_and_can_be_sent_to_workers(memory: Any) -> None:
    memory.pipe("/a.svm", TEXT)
    stream = read("memory://a.svm")
    shards = pickle.loads(pickle.dumps(stream.shards(5)))
    assert b"".join(np.asarray(c.y).tobytes() for s in shards for c in s) == b"".join(
        np.asarray(c.y).tobytes() for c in stream
    )
    assert all(sum(len(c) for c in shard) > 5000 for shard in shards)


@pytest.mark.parametrize("kind", ["parquet", "arrow"])
def test_column_files_are_read_by_ranges_and_cut(memory: Any, tmp_path: Path, kind: str) -> None:
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    table = pa.table({"x": np.arange(40_000) / 7, "z": ["a", "b"] * 20_000, "label": [0, 1] * 20_000})
    path = tmp_path / f"t.{kind}"
    if kind == "parquet":
        parquet.write_table(table, path, row_group_size=5000)
    else:
        with pa.ipc.new_file(path, table.schema) as out:
            out.write_table(table, max_chunksize=5000)
    memory.pipe(f"/t.{kind}", path.read_bytes())
    near, far = read(str(path)), read(f"memory://t.{kind}")
    assert rows_of(near) == rows_of(far)
    assert [sum(len(c) for c in s) for s in far.shards(4)] == [10_000] * 4


def test_only_the_ranges_of_a_shard_are_asked_for(memory: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    memory.pipe("/a.svm", TEXT * 4)
    shard = read("memory://a.svm").shards(8)[4]
    asked: list[int] = []
    whole = type(memory).cat_file

    def counting(self: Any, path: str, start: Any = None, end: Any = None, **more: Any) -> Any:
        asked.append(end - start)
        return whole(self, path, start=start, end=end, **more)

    monkeypatch.setattr(type(memory), "cat_file", counting)
    assert sum(len(c) for c in shard) > 20_000
    assert sum(asked) < len(TEXT) * 4 * 0.75  # an eighth of it, in pieces of 4 MiB


def test_s3_gives_the_bits_of_local_files(s3: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    client, address = s3
    use(address, monkeypatch)
    for k in range(2):
        data = gzip.compress(TEXT) if k else TEXT
        name = f"day/{k}.svm" + ".gz" * k
        client.put_object(Bucket="logs", Key=name, Body=data)
        (tmp_path / Path(name).name).write_bytes(data)
    local = [str(tmp_path / "0.svm"), str(tmp_path / "1.svm.gz")]
    train(local, "arow", r=1.0, model=tmp_path / "near")
    train("s3://logs/day/*", "arow", r=1.0, model=tmp_path / "far")
    assert model_of(tmp_path / "near") == model_of(tmp_path / "far")
    for data, model in ((local, "near"), ("s3://logs/day/*", "far")):
        scale.train(data, "arow", r=1.0, shard_size=1 << 20, model=tmp_path / model)
    assert model_of(tmp_path / "near") == model_of(tmp_path / "far")


class Failing(SimpleHTTPRequestHandler):
    """Passes requests on to the S3 server; fails two of three, by status 500 or by hanging up in the middle."""

    target = ""
    count = itertools.count()

    def do_GET(self) -> None:
        import http.client

        n = next(self.count)
        if n % 3 == 0:
            self.send_error(500)
            return
        host, _, port = self.target.removeprefix("http://").partition(":")
        server = http.client.HTTPConnection(host, int(port), timeout=60)
        server.request(self.command, self.path, headers=dict(self.headers.items()))
        answer = server.getresponse()
        body = answer.read()
        server.close()
        self.send_response(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in ("connection", "transfer-encoding", "server", "date"):
                self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body[: len(body) // 2] if n % 3 == 1 and len(body) > 1000 else body)
        self.close_connection = True

    do_HEAD = do_GET

    def log_message(self, *_: Any) -> None:
        pass


def test_a_server_that_fails_most_requests_changes_no_bit(
    s3: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    client, address = s3
    client.put_object(Bucket="logs", Key="shaky.svm", Body=TEXT)
    (tmp_path / "a.svm").write_bytes(TEXT)
    handler = type("Handler", (Failing,), {"target": address, "count": itertools.count()})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as proxy:
        threading.Thread(target=proxy.serve_forever, daemon=True).start()
        try:
            use(f"http://127.0.0.1:{proxy.server_port}", monkeypatch)
            monkeypatch.setattr(urls, "_FIRST_PAUSE", 0.001)
            found = rows_of(read("s3://logs/shaky.svm"))
        finally:
            proxy.shutdown()
    assert next(handler.count) > 6
    assert found == rows_of(read(str(tmp_path / "a.svm")))


def test_a_server_that_stays_away_is_an_error_with_the_url(monkeypatch: pytest.MonkeyPatch) -> None:
    tries = []

    def away() -> None:
        tries.append(1)
        raise ConnectionResetError("gone")

    with pytest.raises(OSError, match="gone, 7 times in a row") as caught:
        urls.retried("s3://logs/a", away, lambda _: None)
    assert len(tries) == 7
    assert caught.value.filename == "s3://logs/a"


def test_missing_files_rights_drivers_and_folders_are_told(
    memory: Any, s3: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory.pipe("/d/a.svm", TEXT)
    with pytest.raises(FileNotFoundError) as missing:
        read("memory://d/b.svm")
    assert missing.value.filename == "memory://d/b.svm"
    with pytest.raises(FileNotFoundError, match=r"No file matches 'memory://d/\*\.vw'"):
        read("memory://d/*.vw")
    with pytest.raises(IsADirectoryError, match=r"memory://d/\*"):
        read("memory://d")
    with pytest.raises(ValueError, match="nosuch://a: Protocol not known"):
        read("nosuch://a")
    use(s3[1], monkeypatch)
    with pytest.raises(FileNotFoundError):
        read("s3://logs/missing.svm")
    with pytest.raises(PermissionError, match="Permission denied"):
        urls.retried("s3://x/y", partial(_refuse, PermissionError("Forbidden")))


def _refuse(error: Exception) -> None:
    raise error


def test_a_missing_driver_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: Any, **__: Any) -> None:
        raise ImportError("Please install it")

    monkeypatch.setattr(fsspec.core, "url_to_fs", missing)
    with pytest.raises(ValueError, match="gs:// needs gcsfs: pip install gcsfs"):
        read("gs://bucket/a.svm")


def test_a_training_goes_on_from_a_url_and_refuses_another_object(
    s3: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    client, address = s3
    use(address, monkeypatch)
    client.put_object(Bucket="logs", Key="go.svm", Body=TEXT)
    kept, given = tmp_path / "kept", {"r": 1.0, "shard_size": 1 << 20, "rounds": 3}
    whole = tmp_path / "whole"
    scale.train("s3://logs/go.svm", "arow", model=whole, **given)

    class Stopping(Exception):
        pass

    def stop(progress: scale.Progress) -> None:
        if progress.round == 2:
            raise Stopping

    for _ in range(2):
        with pytest.raises(Stopping):
            scale.train("s3://logs/go.svm", "arow", checkpoint=kept, on_progress=stop, **given)
        assert kept.exists()
    scale.train("s3://logs/go.svm", "arow", checkpoint=kept, resume=True, model=tmp_path / "end", **given)
    assert model_of(whole) == model_of(tmp_path / "end")
    with pytest.raises(Stopping):
        scale.train("s3://logs/go.svm", "arow", checkpoint=kept, on_progress=stop, **given)
    client.put_object(Bucket="logs", Key="go.svm", Body=TEXT.replace(b"\n1 ", b"\n2 ", 1))
    with pytest.raises(ValueError, match="other data"):
        scale.train("s3://logs/go.svm", "arow", checkpoint=kept, resume=True, **given)


def test_the_web(tmp_path: Path) -> None:
    pytest.importorskip("aiohttp")
    (tmp_path / "small.svm").write_bytes(TEXT[: TEXT.index(b"\n", 50_000) + 1])
    (tmp_path / "large.svm").write_bytes(TEXT)

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(tmp_path))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            address = f"http://127.0.0.1:{server.server_port}"
            assert rows_of(read(f"{address}/small.svm")) == rows_of(read(str(tmp_path / "small.svm")))
            with pytest.raises(FileNotFoundError):
                read(f"{address}/none.svm")
            with pytest.raises(ValueError, match="it knows no ranges"):  # Python's own server has none
                read(f"{address}/large.svm")
        finally:
            server.shutdown()


def test_the_command_line_reads_urls_and_writes_files(s3: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    client, address = s3
    use(address, monkeypatch)
    client.put_object(Bucket="logs", Key="cli.svm", Body=TEXT)
    assert run_cli("train", "s3://logs/cli.svm", "--algorithm", "pa", "--model", tmp_path / "m").returncode == 0
    for arguments, status, word in (
        (
            ("train", "s3://logs/none.svm", "--algorithm", "pa", "--model", tmp_path / "n"),
            1,
            "s3://logs/none.svm: No such file",
        ),
        (("train", "s3://logs/cli.svm", "--algorithm", "pa", "--model", "s3://logs/m"), 2, "s3://logs/m is a URL"),
    ):
        found = run_cli(*arguments)
        assert found.returncode == status
        assert word in found.stderr
        assert "Traceback" not in found.stderr
