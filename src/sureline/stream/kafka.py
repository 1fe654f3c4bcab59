"""The client of a Kafka cluster, with its errors in the words of this project."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

SCHEME = "kafka://"
SETTINGS = "SURELINE_KAFKA_CONFIG"  # the environment variable that names a file with settings of librdkafka

_ADDRESS = re.compile(r"kafka://(?P<brokers>[^/?#\s]+)/(?P<topic>[A-Za-z0-9._-]{1,249})")
_ANSWER = 10.0  # seconds that a broker has for an answer
_MANY = 10_000  # messages at a time


def is_topic(path: object) -> bool:
    """True of kafka://broker:port/topic."""
    return isinstance(path, str) and path.lower().startswith(SCHEME)


class Client:
    """A consumer of one topic. It joins no group and commits nothing."""

    def __init__(self, url: str) -> None:
        found = _ADDRESS.fullmatch(url)
        if found is None:
            raise ValueError(
                f"{url}: a topic is named kafka://BROKER:PORT/TOPIC, with more brokers after commas; a topic's name "
                "has letters, digits, dots, dashes and underscores."
            )
        try:
            import confluent_kafka
        except ImportError:
            raise ValueError(f"{url}: reading topics needs confluent-kafka: pip install 'sureline[kafka]'.") from None
        self.url, self.topic, self._kafka = url, found["topic"], confluent_kafka
        self.trouble: str | None = None  # with the brokers, since the last message
        own = {
            "bootstrap.servers": found["brokers"],
            "group.id": "sureline",  # must be there, and is not joined
            "enable.auto.commit": False,
            "enable.auto.offset.store": False,
            "enable.partition.eof": True,
            "auto.offset.reset": "error",
            "allow.auto.create.topics": False,
            "error_cb": self._note,
        }
        try:
            self._consumer = confluent_kafka.Consumer({"log_level": 0, **_settings(), **own})
        except confluent_kafka.KafkaException as error:
            raise ValueError(f"{url}: {_reason(error)} ({SETTINGS}={os.environ.get(SETTINGS, '')}).") from None

    def _note(self, error: Any) -> None:
        self.trouble = str(error.str())

    def extent(self) -> list[list[int]]:
        """The first offset, and the one after the last, of each partition."""
        try:
            about = self._consumer.list_topics(self.topic, timeout=_ANSWER).topics[self.topic]
            if about.error is not None:
                if about.error.name() in ("UNKNOWN_TOPIC_OR_PART", "_UNKNOWN_TOPIC"):
                    raise FileNotFoundError(errno.ENOENT, "The brokers have no such topic", self.url)
                raise OSError(errno.EIO, about.error.str(), self.url)
            partitions = [self._kafka.TopicPartition(self.topic, number) for number in sorted(about.partitions)]
            return [list(self._consumer.get_watermark_offsets(one, timeout=_ANSWER)) for one in partitions]
        except self._kafka.KafkaException as error:
            said = f"The brokers do not answer ({self.trouble or _reason(error)})"
            raise OSError(errno.EIO, said, self.url) from None

    def begin(self, offsets: Sequence[int]) -> None:
        """Read each partition from an offset on."""
        self._consumer.assign([self._kafka.TopicPartition(self.topic, k, at) for k, at in enumerate(offsets)])

    def messages(self, seconds: float) -> list[Any]:
        """Available messages; waits at most that long for the first."""
        found = self._consumer.consume(_MANY, 0)
        if not found:  # a wait is over only when as many have come as were asked for
            found = self._consumer.consume(1, seconds)
            found += self._consumer.consume(_MANY, 0) if found else []
        if found:
            self.trouble = None
        return list(found)

    def at_end(self, message: Any) -> bool:
        """True for the marker that a partition has no more messages for now. OSError for an error."""
        error = message.error()
        if error is None:
            return False
        if error.name() == "_PARTITION_EOF":
            return True
        if error.name() in ("_AUTO_OFFSET_RESET", "OFFSET_OUT_OF_RANGE"):
            raise OSError(
                errno.EIO,
                f"Partition {message.partition()} no longer has the message with offset {message.offset()}, with which "
                "reading was to go on: the topic keeps its messages for less time, or was made anew",
                self.url,
            )
        raise OSError(errno.EIO, error.str(), self.url)

    def pause(self, partition: int) -> None:
        """Stop messages of a partition."""
        self._consumer.pause([self._kafka.TopicPartition(self.topic, partition)])

    def resume(self, partition: int) -> None:
        """Let more come of a partition that was paused."""
        self._consumer.resume([self._kafka.TopicPartition(self.topic, partition)])

    def close(self) -> None:
        self._consumer.close()


def _settings() -> dict[str, str]:
    """Settings of librdkafka from a file of lines `name=value`: addresses of certificates, users, passwords."""
    name = os.environ.get(SETTINGS)
    if not name:
        return {}
    settings = {}
    for number, line in enumerate(Path(name).read_text().splitlines(), 1):
        if line.strip() and not line.lstrip().startswith("#"):
            key, equals, value = line.partition("=")
            if not equals:
                raise ValueError(f"{name}:{number}: a line of {SETTINGS} is name=value.")
            settings[key.strip()] = value.strip()
    return settings


def _reason(error: Exception) -> str:
    return str(getattr(error.args[0], "str", lambda: error)()) if error.args else str(error)
