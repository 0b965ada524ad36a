"""go-nsq as producer and consumer: which words start the program, and what is due from it."""

from pathlib import Path

from client_program import ClientProgram, Said
from served_cluster import Cluster

CHANNEL = "clients"


class GoNsq:
    """Starts the program against a cluster; it is told one lookup server and finds the rest."""

    def __init__(self, program: Path, cluster: Cluster, folder: Path) -> None:
        self._program = program
        self._cluster = cluster
        self._folder = folder
        self._started = 0

    def consume(self, topic: str, way: str = "plain", **options: str) -> ClientProgram:
        """Start a consumer; await its subscriptions by what the cluster says."""
        return self._start("consume", topic, way, {"channel": CHANNEL, **options})

    def produce(self, topic: str, way: str = "plain", **options: str) -> ClientProgram:
        """Start a producer, which ends when its count is acknowledged, or when it is told to."""
        return self._start("produce", topic, way, options)

    def publish(self, topic: str, count: int, way: str = "plain", **options: str) -> list[Said]:
        """Publish everything and return what was acknowledged, in order; nothing is refused."""
        with self.produce(topic, way, count=str(count), **options) as producer:
            producer.wait(lambda: bool(producer.said("done")), "end of publishing")
            producer.finish()
            assert producer.said("refused") == []
            return producer.said("sent")

    def _start(self, verb: str, topic: str, way: str, options: dict[str, str]) -> ClientProgram:
        self._started += 1
        words = {"lookupd": self._cluster.lookupds[0], "topic": topic, "way": way, **options}
        command = [str(self._program), verb]
        command += [f"-{name}={value}" for name, value in words.items()]
        return ClientProgram(command, self._folder / f"{verb}-{self._started}.log")
