"""Items: a program as the sequence in which layers are looked for."""

from typing import NamedTuple

import numpy as np

from .....core.symbol import Symbol
from ....graph.signatures import contents_of
from ....kernels.kernel import Scratch
from ..launches import Launch


class Output(NamedTuple):
    """What a program computes, as an item: a result, an update of a leaf, or what is held, by number. `node` may be a constant."""

    kind: str
    number: int
    node: object
    leaf: Symbol | None = None


class Items:
    """The launches of a program with its buffers, each before the first launch that meets it, and its outputs, as a sequence."""

    def __init__(self, short, draft, parts):
        self.things, self.tokens, self.operands = [], [], []
        self._numbers, self._facts, self._leaves, self._draft = {}, {}, {id(leaf) for leaf in short.graph.state}, draft
        fresh, inputs = {id(node) for node in draft.fresh}, {id(leaf) for leaf in short.graph.inputs}
        self._single = fresh | inputs
        # What no layer has for itself comes first: the first layer that meets it is like the others then.
        for launch in parts:
            for buffer in launch.buffers:
                if not isinstance(buffer, (Symbol, Scratch)) or id(buffer) in self._single:
                    self.number(buffer)
        for launch in parts:
            # A loop has a table of its own: each is another one.
            facts = facts_of(launch) if launch.__class__ is Launch else id(launch)
            self._add(launch, facts, [self.number(buffer) for buffer in launch.buffers])
        outputs = draft.outputs
        for number, node in enumerate(outputs[: draft.results]):
            self._put(Output("result", number, node))
        for number, (leaf, node) in enumerate(draft.updates):
            self._put(Output("update", number, node, leaf))
        for number, node in enumerate(draft.held):
            self._put(Output("held", number, node))

    def tokens_by_neighbours(self):
        """Tokens that are equal for items that are alike with what they meet and by what they are met, and so do these."""
        tokens = self.tokens
        for _ in range(2):
            met = [[(tokens[operand], -1) for operand in operands] for operands in self.operands]
            for token, operands in zip(tokens, self.operands, strict=True):
                for place, operand in enumerate(operands):
                    met[operand].append((token, place))
            facts = {}
            tokens = [facts.setdefault((token, *sorted(found)), len(facts)) for token, found in zip(tokens, met, strict=True)]
        return tokens

    def is_leaf(self, thing):
        """Whether a buffer is a leaf of the state."""
        return id(thing) in self._leaves

    def _put(self, output):
        met = [node for node in (output.leaf, output.node) if isinstance(node, Symbol)]
        # A number is an output as it is, and of results each is another one.
        told = output.number if output.kind == "result" else None if met and met[-1] is output.node else id(output.node)
        self._add(output, (output.kind, told, *[(node.shape, node.dtype) for node in met]), [self.number(node) for node in met])

    def number(self, buffer):
        """The number of a buffer."""
        buffer = self._draft.storage(buffer)
        key = id(buffer)
        if isinstance(buffer, np.ndarray):
            # Strides are told, since launches read memory.
            key = contents_of(buffer), buffer.strides
        if key not in self._numbers:
            self._numbers[key] = len(self.things)
            self._add(buffer, self._told(buffer), [])
        return self._numbers[key]

    def _told(self, buffer):
        """What a buffer has in common with those that stand for it in other layers."""
        if isinstance(buffer, Scratch):
            return "scratch", buffer.nbytes
        if isinstance(buffer, Symbol) and id(buffer) not in self._single:
            return "leaf" if self.is_leaf(buffer) else "node", buffer.shape, buffer.dtype
        return "single", id(buffer)

    def _add(self, thing, facts, operands):
        self.things.append(thing)
        self.tokens.append(self._facts.setdefault(facts, len(self._facts)))
        self.operands.append(operands)


def facts_of(launch):
    """What a launch has in common with those of other layers; of a loop what it has with that of the same graph planned again."""
    if launch.__class__ is not Launch:
        return launch.__class__, len(launch.buffers), tuple([facts_of(one) for one in launch.launches])
    nest = launch.step.nest if launch.passes else None
    sizes = None if nest is None else (nest.blocks, nest.chunk_blocks, nest.frames)
    words = tuple([word if isinstance(word, int) else getattr(word, "name", None) or repr(word) for word in launch.words])
    passes = tuple([facts_of(one) for one in launch.passes])
    return launch.entry, words, len(launch.buffers), launch.chunks, launch.lasts, launch.role, sizes, passes
