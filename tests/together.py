"""Functions called in several threads at the same time."""

import threading


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
