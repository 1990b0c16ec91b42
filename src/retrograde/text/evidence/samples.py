"""Single samples as evidence: what was asked and answered for an item, before a change and after it."""

from ..conversation import shortened
from ..data import as_text

#: How many items a step shows that it won, and as many that it lost; and how much of a text is kept, in characters.
SHOWN, _LONGEST = 3, 2000


def by_item(calls, places):
    """{place: its calls} from the calls of one scoring of the items at `places`; empty where they cannot be told apart.

    A batch is traced in the order of its items. So calls that were made for one node belong to the items one by one, if there are
    as many.
    """
    nodes = {}
    for call in calls:
        nodes.setdefault(call.node, []).append(call)
    whole = [found for found in nodes.values() if len(found) == len(places)]
    return {place: [found[i] for found in whole] for i, place in enumerate(places)} if whole else {}


def answers(calls, count):
    """The answer of the last call for each of `count` items, None where it is not known."""
    found = [calls[place][-1].completion if calls.get(place) else None for place in range(count)]
    return [None if completion is None else shortened(completion.text, _LONGEST) for completion in found]


def sample(item, before, after, answer, calls):
    """One item as JSON data: its scores before and after a change, its answer before, and its calls after.

    Nothing in it depends on how fast the calls were, or on what a cache held.
    """
    words = item if isinstance(item, str) else as_text(_worded(item))
    return {"item": shortened(words, _LONGEST), "before": before, "after": after, "answer": answer,
            "calls": [_call_data(call) for call in calls or ()]}


def _call_data(call):
    """What there is to read of a call."""
    completion = call.completion
    return {"node": call.node or "", "model": call.model, "error": call.error,
            "messages": [[message.role, shortened(message.content, _LONGEST)] for message in call.request.messages],
            "answer": None if completion is None else shortened(completion.text, _LONGEST),
            "tokens": 0 if completion is None else completion.tokens}


def _worded(item):
    return " → ".join(map(as_text, item)) if isinstance(item, (list, tuple)) else item
