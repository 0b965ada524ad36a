import pickle

from wireproof_spec.wire_error import WireError

ERROR = WireError(
    clause="ext.publish.accept",
    field="header_length",
    offset=4,
    expected="at most 11",
    found="900",
)


def test_the_text_names_clause_field_place_expected_and_found() -> None:
    assert str(ERROR) == (
        "ext.publish.accept: header_length at byte 4: expected at most 11, found 900"
    )


def test_an_error_can_be_moved_to_where_its_data_start() -> None:
    moved = ERROR.at(100)

    assert (moved.offset, moved.field, moved.found) == (104, "header_length", "900")
    assert ERROR.offset == 4


def test_an_error_survives_a_process_border() -> None:
    copy = pickle.loads(pickle.dumps(ERROR))

    assert str(copy) == str(ERROR)
    assert vars(copy) == vars(ERROR)
