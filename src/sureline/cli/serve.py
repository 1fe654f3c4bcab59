"""``sureline serve``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ._help import Rare
from ._options import Count
from ._packages import refuse_without
from ._paths import FileCommand, Read, WrittenFolder

if TYPE_CHECKING:
    from ..serve.tokens import Tokens


@click.command("serve", cls=FileCommand, short_help="Serve models over HTTP, and learn from labels that come back.")
@click.argument("models", nargs=-1, metavar="[NAME=]MODEL...")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=8765, show_default=True, help="Port; 0 takes a free one."
)
@click.option("--tcp", metavar="[NAME=]PORT", help="Also answer plain lines on this port. [default: no]")
@click.option(
    "--state",
    type=WrittenFolder(),
    help="Folder for what it learns. [default: MODEL.state of the first model]",
)
@click.option(
    "--durability",
    type=click.Choice(["fsync", "batch", "none"]),
    default="fsync",
    show_default=True,
    help="When a label is acknowledged: once it is on disk (fsync); once it is written, and on disk 50 ms later "
    "(batch); or once it is written (none). A killed process loses none. A power failure loses what is not on disk.",
)
@click.option("--token", "tokens", multiple=True, metavar="TOKEN", help="read:SECRET, learn:SECRET or admin:SECRET.")
@click.option("--token-file", type=Read(), help="File with one token per line, so that other users cannot see them.")
@click.option("--without-token", is_flag=True, help="Allow --host for other machines without tokens.")
@click.option("--tls-cert", type=Read(), help="Certificate chain in PEM format, for HTTPS.")
@click.option("--tls-key", type=Read(), help="Private key of the certificate.")
@click.option(
    "--max-error",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    help="Also show coverage and error of predict with this --max-error.",
)
@click.option("--access-log", is_flag=True, help="Log each request to standard error, without its body.")
@click.option("--log-examples", is_flag=True, help="Log the first 2,000 bytes of each body too.")
@click.option(
    "--max-body", cls=Rare, type=Count(1000), default=8 << 20, show_default=True, help="Largest JSON body, in bytes."
)
@click.option(
    "--max-rows", cls=Rare, type=Count(1), default=1000, show_default=True, help="Most rows in one JSON body."
)
@click.option(
    "--max-upload",
    cls=Rare,
    type=Count(1000),
    default=1 << 30,
    show_default=True,
    help="Largest uploaded model, in bytes.",
)
@click.option(
    "--max-connections", cls=Rare, type=Count(1), default=1024, show_default=True, help="Most connections at a time."
)
@click.option(
    "--max-waiting",
    cls=Rare,
    type=Count(1),
    default=20_000,
    show_default=True,
    help="Most rows waiting to be learned from.",
)
@click.option(
    "--snapshot-every",
    cls=Rare,
    type=Count(1 << 16),
    default=16 << 20,
    show_default=True,
    help="Write a snapshot after this many bytes of log.",
)
@click.option(
    "--max-log", cls=Rare, type=Count(1 << 17), default=1 << 30, show_default=True, help="Most bytes of log to keep."
)
@click.option(
    "--keep-snapshots",
    cls=Rare,
    type=click.IntRange(1, 1000),
    default=2,
    show_default=True,
    help="Snapshots to keep, with the log since the oldest. Answers since then can be replayed.",
)
@click.option(
    "--remember",
    cls=Rare,
    type=Count(0),
    default=256 << 20,
    show_default=True,
    help="Memory for predictions that wait for their labels, in bytes; 0 for none.",
)
def command(
    models: tuple[str, ...],
    host: str,
    port: int,
    tcp: str | None,
    state: Path | None,
    tokens: tuple[str, ...],
    token_file: Path | None,
    without_token: bool,
    tls_cert: Path | None,
    tls_key: Path | None,
    access_log: bool,
    log_examples: bool,
    **options: Any,
) -> None:
    """Serve MODEL over HTTP, learn from labels that come back, and keep what was learned in --state.

    The name of a model is that of its file without .sureline, or NAME. A restarted service continues from --state;
    without MODEL it serves all models there.
    """
    refuse_without()
    from ..serve.limits import Limits
    from ..serve.running import Settings, run
    from ..serve.served import Keeping

    files = [_named(text) for text in models]
    if len({name for name, _ in files}) < len(files):
        raise click.UsageError("Two models have the same name: NAME=FILE gives another one.")
    if state is None:
        if not files:
            raise click.UsageError("Name a model, or the --state of an earlier service.")
        state = files[0][1].with_name(f"{files[0][1].name}.state")
    if (tls_cert is None) != (tls_key is None):
        raise click.UsageError("--tls-cert and --tls-key come together.")
    tcp_name, tcp_port = (None, None) if tcp is None else _port(tcp)
    limits = Limits(
        body=options["max_body"],
        rows=options["max_rows"],
        upload=options["max_upload"],
        sockets=options["max_connections"],
        waiting=options["max_waiting"],
    )
    keeping = Keeping(
        durability=options["durability"],
        snapshot_every=options["snapshot_every"],
        most_log=options["max_log"],
        kept_snapshots=options["keep_snapshots"],
        predictions=options["remember"],
        max_error=options["max_error"],
    )
    run(
        Settings(
            state=state,
            files=files,
            host=host,
            port=port,
            tcp=tcp_port,
            tcp_model=tcp_name,
            tokens=_tokens(tokens, token_file),
            anybody=without_token,
            limits=limits,
            keeping=keeping,
            certificate=tls_cert,
            key=tls_key,
            access_log=access_log,
            log_examples=log_examples,
        )
    )


def _named(text: str) -> tuple[str, Path]:
    """The name and the file of NAME=FILE; of a file alone its name without the ending."""
    name, equals, file = text.partition("=")
    if equals and "/" not in name:
        return name, Path(file)
    path = Path(text)
    return path.name.removesuffix(".sureline"), path


def _port(text: str) -> tuple[str | None, int]:
    name, equals, port = text.rpartition("=")
    if not (port.isascii() and port.isdigit() and int(port) <= 65535):
        raise click.BadParameter(f"{text!r} is not a port, or NAME=PORT.", param_hint="--tcp")
    return (name if equals else None), int(port)


def _tokens(given: tuple[str, ...], file: Path | None) -> Tokens:
    from ..serve.tokens import Tokens, parsed_token, tokens_of_file

    found = [parsed_token(text, "--token") for text in given]
    return Tokens(found + ([] if file is None else tokens_of_file(file)))
