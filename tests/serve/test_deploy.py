"""The files of deploy/: their commands start a service, which never runs as root."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from service import process

DEPLOY = Path(__file__).parents[2] / "deploy"


def of_image() -> list[str]:
    """The command of the image."""
    text = (DEPLOY / "Dockerfile").read_text().replace("\\\n", "")
    found = dict(re.findall(r"^(ENTRYPOINT|CMD) (\[.*\])$", text, re.MULTILINE))
    return [*json.loads(found["ENTRYPOINT"]), *json.loads(found["CMD"])]


def of_unit() -> list[str]:
    """The command of the unit, with the place of its credentials."""
    [line] = re.findall(r"^ExecStart=(.*)$", (DEPLOY / "sureline.service").read_text(), re.MULTILINE)
    return shlex.split(line.replace("${CREDENTIALS_DIRECTORY}", "/etc/sureline"))


@pytest.mark.parametrize("words", [of_image(), of_unit()], ids=["Dockerfile", "sureline.service"])
def test_the_command_starts_a_service(words: list[str], models: dict[str, Path], tmp_path: Path) -> None:
    assert Path(words[0]).name == "sureline"
    (tmp_path / "models").mkdir()
    shutil.copy(models["text"], tmp_path / "models" / "mail.sureline")
    tokens = tmp_path / "tokens"
    tokens.write_text("read:one-that-reads-only\nlearn:one-that-also-teaches\n")
    tokens.chmod(0o400)
    assert words[1] == "serve"
    given = [word.replace("/var/lib/sureline", str(tmp_path)) for word in words[2:]]
    with process(*(word.replace("/etc/sureline/tokens", str(tokens)) for word in given)) as service:
        assert service("GET", "/healthz").status == 200
        body = {"row": "free lottery"}
        assert service("POST", "/v1/models/mail/predict", body).status == 401
        read = {"Authorization": "Bearer one-that-reads-only"}
        assert service("POST", "/v1/models/mail/predict", body, read).status == 200
        assert service("POST", "/v1/models/mail/learn", body | {"label": "spam"}, read).status == 403
        assert service.stop() == 0
    assert (tmp_path / "state" / "mail" / "name.json").exists()


def test_nobody_is_root() -> None:
    image, unit = (DEPLOY / "Dockerfile").read_text(), (DEPLOY / "sureline.service").read_text()
    assert re.findall(r"^USER (\S+)$", image, re.MULTILINE)[-1] == "10001:10001"
    assert "DynamicUser=yes" in unit
    assert not re.search(r"^User=", unit, re.MULTILINE)


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="there is no systemd-analyze")
def test_systemd_knows_every_setting(tmp_path: Path) -> None:
    unit = (DEPLOY / "sureline.service").read_text()
    program = tmp_path / "sureline"
    program.symlink_to("/bin/true")
    (tmp_path / "sureline.service").write_text(unit.replace("/opt/sureline/bin/sureline", str(program)))
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", tmp_path / "sureline.service"], capture_output=True, text=True
    )
    assert "Unknown" not in done.stderr, done.stderr
