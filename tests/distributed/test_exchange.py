"""Exchanges through shared memory: by two threads that stand for processes, and by processes in compiled steps."""

import threading
import time

import numpy as np
import pytest

from retrograde.compiler.backends.cpu.codegen.exchange import protocol
from retrograde.compiler.backends.cpu.exchange import Exchange, Status, exchange
from retrograde.distributed import network
from tests.launching import needs_mpi, started


def group(size=2, nbytes=2**26, patience=5.0):
    """The exchanges of a group, as if each were a process of its own."""
    rows = [np.zeros(nbytes, np.uint8) for _ in range(size)]
    found = [exchange(rank, rows) for rank in range(size)]
    for each in found:
        each.wait(patience, 0)
    return found


def together(exchanges_of_all, work):
    """What `work(rank, exchange)` gives for each, all at the same time."""
    found: list = [None] * len(exchanges_of_all)

    def run(rank):
        try:
            found[rank] = work(rank, exchanges_of_all[rank])
        except Exception as error:  # noqa: BLE001 - raised below
            found[rank] = error

    threads = [threading.Thread(target=run, args=(rank,)) for rank in range(len(exchanges_of_all))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for one in found:
        if isinstance(one, Exception):
            raise one
    return found


TEXT = Exchange.text("a sum")


@pytest.mark.parametrize("size", [2, 3, 4, 7])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_sums_that_overlap_in_time_and_in_memory_have_the_bits_of_sums_in_the_order_of_ranks(size, dtype):
    rng = np.random.default_rng(size)
    # Of many sizes, in memory that is used again after a few of them, with up to four of them begun at once.
    shapes = [[(int(rng.integers(1, 40)), 1 + 97 * int(rng.integers(0, 60)))[: rng.integers(0, 3)] for _ in range(rng.integers(1, 5))]
              for _ in range(60)]
    operands = [[[rng.normal(size=s).astype(dtype) for s in each] for each in shapes] for _ in range(size)]
    begun_at_once = rng.integers(1, 5, 60)

    def work(rank, exchange):
        found, first = [], 0
        for count in begun_at_once:
            calls = [(i, exchange.begin(operands[rank][i], TEXT)) for i in range(first, min(first + count, 60))]
            for i, number in calls:
                results = [np.empty(s, dtype) for s in shapes[i]]
                assert exchange.finish(number, results, TEXT, size) == Status.WELL
                found.append(results)
            first += count
        return found

    of_all = group(size)
    for found in together(of_all, work):
        for i, results in enumerate(found):
            for k, result in enumerate(results):
                total = operands[0][i][k].copy()
                for rank in range(1, size):
                    total += operands[rank][i][k]
                np.testing.assert_array_equal(result, total / np.asarray(size, dtype))
    for rank in range(size):
        assert of_all[0].counts(rank)[0] == of_all[0].counts(rank)[1] > 0


def test_the_model_of_cost_knows_how_many_add_up_alone():
    assert network.ALONE == protocol.ALONE


def test_operands_are_not_written_over_before_all_have_read_them():
    one, other = group(patience=0.05)
    x = [np.full(200_000, 1.0, np.float32)]
    first = [one.begin(x, TEXT), other.begin(x, TEXT)]
    result = [np.empty(200_000, np.float32)]
    assert one.finish(first[0], result, TEXT, 1) == Status.WELL
    # The other has not read what was begun first: whatever this one begins meanwhile goes elsewhere, or waits.
    for value in range(2, 12):
        number = one.begin([np.full(200_000, float(value), np.float32)], TEXT)
        if not number:
            assert one.failure()[0] == Status.DEAF
            break
        one.close(number)
    assert other.finish(first[1], result, TEXT, 1) == Status.WELL
    np.testing.assert_array_equal(result[0], 2.0)


def test_who_says_nothing_is_late_and_who_says_something_else_differs():
    one, other = group(patience=0.05)
    number = one.say(TEXT)
    assert one.hear(number, TEXT) == Status.LATE and one.failure() == (Status.LATE, number)
    assert other.say(Exchange.text("something else")) == number
    assert one.hear(number, TEXT) == Status.DIFFERENT and one.said(1, number) == "something else"
    result = [np.empty(1, np.float32)]
    assert one.finish(number, result, TEXT, 1) == Status.DIFFERENT


def test_a_process_can_be_so_many_calls_ahead_and_no_more():
    one, other = group(patience=0.05)
    numbers = [one.say(TEXT) for _ in range(protocol.SLOTS)]
    assert numbers == list(range(1, protocol.SLOTS + 1))
    assert one.say(TEXT) == 0 and one.failure() == (Status.DEAF, 1)
    first = other.say(TEXT)
    assert other.hear(first, TEXT) == Status.WELL
    other.close(first)
    assert one.say(TEXT) == protocol.SLOTS + 1
    # What was said first is given up to make room for it, and no sum is made of what is no longer there.
    assert one.finish(1, [np.empty(1, np.float32)], TEXT, 1) == Status.OVER


def test_whose_part_is_not_added_up_is_told_by_the_others():
    of_all = group(size=4, patience=0.1)
    numbers = [each.begin([np.ones(100, np.float32)], TEXT) for each in of_all]
    assert of_all[0].finish(numbers[0], [np.empty(100, np.float32)], TEXT, 1) == Status.SLOW
    assert of_all[0].failure() == (Status.SLOW, numbers[0])


def test_what_has_no_room_is_refused():
    one, _ = group(nbytes=2**22)
    assert one.begin([np.zeros(2**20, np.float32)], TEXT) == 0 and one.failure()[0] == Status.FULL
    assert one.begin([np.zeros(1000, np.float32)], TEXT) == 1


def test_a_delay_counts_from_when_a_sum_was_begun():
    one, other = group()
    for each in (one, other):
        each.wait(5.0, 0.2)
    x, result = [np.ones(5, np.float32)], [np.empty(5, np.float32)]
    start = time.monotonic()
    number = one.begin(x, TEXT)
    other.begin(x, TEXT)
    assert time.monotonic() - start < 0.15
    time.sleep(0.15)
    assert one.finish(number, result, TEXT, 1) == Status.WELL
    assert 0.2 <= time.monotonic() - start < 0.34


@needs_mpi
def test_compiled_steps_send_many_buckets_at_once_and_write_nothing_where_others_do_something_else():
    found = started(2, "compiled.py")
    for rank in range(2):
        assert f"process {rank} of 2 is done" in found.stdout, f"{found.stdout}\n{found.stderr}"
