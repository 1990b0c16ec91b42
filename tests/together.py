"""Functions called in several threads at the same time, and on several numbers of threads."""

import threading

import retrograde as rg


def on_threads(function, counts=(1, 2, 3)):
    """What `function` returns where compiled code runs on each number of threads."""
    before, found = rg.get_num_threads(), []
    try:
        for count in counts:
            rg.set_num_threads(count)
            found.append(function())
    finally:
        rg.set_num_threads(before)
    return found


def in_threads(function, arguments=((),)):
    """What `function` returns for each of `arguments`, tuples of such, each in a thread of its own; raises the first error in one."""
    arguments = list(arguments)
    results, errors = [None] * len(arguments), []

    def work(number):
        try:
            results[number] = function(*arguments[number])
        except BaseException as error:  # noqa: BLE001 - raised below
            errors.append(error)

    workers = [threading.Thread(target=work, args=(number,)) for number in range(len(arguments))]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    if errors:
        raise errors[0]
    return results
