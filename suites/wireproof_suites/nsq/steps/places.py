"""Cases repeated elsewhere: in another partition of a topic, and on an upgraded topic."""

import inspect
from collections.abc import Callable, Iterator, Mapping
from types import ModuleType

from wireproof_kit.case import case_mark, elsewhere
from wireproof_kit.nsq.topics.topic import Topic
from wireproof_kit.observation import Observation
from wireproof_spec.catalogue import load_catalogue

EXT, PLAIN = "ext_topic", "plain_topic"
THIRD = 2
IN_THIRD, UPGRADED = "third-partition", "upgraded-topic"

Experiment = Callable[..., Observation]


def repeat_elsewhere(*modules: ModuleType) -> Mapping[str, Experiment]:
    """Return the must cases of modules that use a shared topic, as cases elsewhere, by name.

    Each is repeated in the third partition of a topic, and one of an ext topic also on a topic
    that was upgraded to ext.
    """
    return {
        name: repeated
        for module in modules
        for function in _experiments(module)
        for name, repeated in _repeat(function, module.__name__.rpartition(".")[2])
    }


def _experiments(module: ModuleType) -> Iterator[Experiment]:
    catalogue = load_catalogue("nsq")
    for function in vars(module).values():
        mark = case_mark(function)
        if mark is None or mark.hazard or mark.alone or function.__module__ != module.__name__:
            continue
        clause = catalogue.clause(mark.clause)
        if clause is not None and clause.level == "must":
            yield function


def _repeat(function: Experiment, module: str) -> Iterator[tuple[str, Experiment]]:
    own = {EXT, PLAIN}.intersection(inspect.signature(function).parameters)
    if len(own) != 1:
        return
    name = f"{function.__name__}_of_{module}"
    wide = {EXT: "wide_ext_topic", PLAIN: "wide_topic"}
    replaced = {each: wide[each] for each in own}
    yield (
        f"{name}_in_third_partition",
        elsewhere(
            function, place=IN_THIRD, needs=("partition",), arguments=replaced, adapt=_third
        ),
    )
    if EXT in own:
        yield (
            f"{name}_on_upgraded_topic",
            elsewhere(
                function,
                place=UPGRADED,
                needs=("partition", "upgrade"),
                arguments={EXT: "wide_upgraded_topic"},
                adapt=_first,
            ),
        )


def _third(name: str, value: object) -> object:
    return value.at(THIRD) if isinstance(value, Topic) else value


def _first(name: str, value: object) -> object:
    return value.at(0) if isinstance(value, Topic) else value
