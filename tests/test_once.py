"""Once: one result, whichever threads ask for it first."""

import threading

import pytest

from retrograde.once import once


def test_threads_that_ask_at_the_same_time_are_given_one_result():
    begun, made, given = threading.Event(), [], []

    @once
    def place():
        made.append(object())
        begun.set()
        others[0].start()
        others[1].start()  # both ask while this runs
        return made[-1]

    others = [threading.Thread(target=lambda: given.append(place())) for _ in range(2)]
    given.append(place())
    for thread in others:
        thread.join()
    assert begun.is_set() and given == made * 3


def test_who_failed_is_asked_again():
    answers = iter([ZeroDivisionError(), 5])

    @once
    def number():
        answer = next(answers)
        if isinstance(answer, Exception):
            raise answer
        return answer

    with pytest.raises(ZeroDivisionError):
        number()
    assert number() == number() == 5
