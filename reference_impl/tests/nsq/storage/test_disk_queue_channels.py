"""Positions and lists of channels beside a queue."""

from pathlib import Path

from disk_queues import FIRST, filled, opened, record, recorded

from wireproof_reference_impl.nsq.storage.channels import ChannelPosition


def test_channel_positions_are_kept_in_the_files_of_the_deployed_broker(tmp_path: Path) -> None:
    offsets = filled(tmp_path, recorded())
    queue = opened(tmp_path)
    positions = {
        "all": ChannelPosition(queue.end, queue.count),
        "some": ChannelPosition(offsets[6], 6),
        "none": ChannelPosition(0, 0),
    }

    queue.save_channel_positions(positions)
    queue.close()

    name = "rolled-0:some.diskqueue.meta.v2.reader.dat"
    in_file = offsets[6] - 248
    expected = f"6\n13\n1,{in_file},{offsets[6]}\n3,159,879\n".encode() + b"\xae\x83"
    assert (tmp_path / name).read_bytes() == expected
    queue = opened(tmp_path)
    assert queue.load_channel_positions() == positions
    queue.save_channel_positions({"some": positions["some"]})
    queue.close()
    assert opened(tmp_path).load_channel_positions() == {"some": positions["some"]}


def test_a_position_past_a_dropped_tail_is_moved_to_the_end(tmp_path: Path) -> None:
    filled(tmp_path, [record(b"whole"), record(b"cut off")])
    queue = opened(tmp_path)
    queue.save_channel_positions({"ch": ChannelPosition(queue.end, queue.count)})
    queue.close()
    path = tmp_path / FIRST
    path.write_bytes(path.read_bytes()[:-4])

    queue = opened(tmp_path)

    assert queue.load_channel_positions() == {"ch": ChannelPosition(35, 1)}
    assert "confirmed up to 72, outside the queue; moved to 35" in str(queue.warnings[-1])
    queue.close()


def test_a_channel_with_a_broken_position_begins_anew(tmp_path: Path) -> None:
    queue = opened(tmp_path)
    queue.append(record(b"not finished, as far as anyone knows"))
    queue.save_channel_positions({"ch": ChannelPosition(0, 0)})
    (tmp_path / "rolled-0:ch.diskqueue.meta.v2.reader.dat").write_bytes(b"0\n0\n0,0,0\n0,0,")

    assert queue.load_channel_positions() == {"ch": ChannelPosition(0, 0)}
    assert [warning.file for warning in queue.warnings] == [
        "rolled-0:ch.diskqueue.meta.v2.reader.dat"
    ]
    queue.close()


def test_channels_are_listed_as_the_deployed_broker_lists_them(tmp_path: Path) -> None:
    queue = opened(tmp_path)

    queue.save_channels(["new", "old"])

    assert (tmp_path / "channel_meta0").read_bytes() == (
        b'[{"name":"new","paused":false,"skipped":false,"zanTestSkipped":false},'
        b'{"name":"old","paused":false,"skipped":false,"zanTestSkipped":false}]'
    )
    queue.close()
