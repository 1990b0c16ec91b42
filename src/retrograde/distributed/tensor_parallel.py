"""TensorParallel: a model that several processes hold together, each a part of its large layers."""

from contextlib import contextmanager
from fnmatch import fnmatchcase
from typing import Any

from ..core.edits import edited
from ..errors import ArgumentError
from ..nn.attention import MultiheadAttention
from ..nn.embedding import Embedding
from ..nn.linear import Linear
from ..nn.module import Module
from ..nn.parameter import Uninitialized
from ..nn.state import share_of
from .alike import check_alike
from .around import Around
from .parallel_layers import ColumnLinear, GatheredLinear, Guarded, HeadsAttention, RowLinear, VocabularyEmbedding
from .share import Share
from .whole_states import WHOLE
from .world import world

#: (kind of sharding, class of layer): the class that computes in parts, and by name of a parameter the axis that is cut, and into
#: how many blocks first. Parameters that are not named stay whole.
_LAYERS: dict = {
    ("column", Linear): (ColumnLinear, {"weight": (0, 1), "bias": (0, 1)}),
    ("gathered", Linear): (GatheredLinear, {"weight": (0, 1), "bias": (0, 1)}),
    ("row", Linear): (RowLinear, {"weight": (1, 1)}),
    ("vocabulary", Embedding): (VocabularyEmbedding, {"weight": (0, 1)}),
    ("vocabulary", Linear): (ColumnLinear, {"weight": (0, 1), "bias": (0, 1)}),
    ("heads", MultiheadAttention): (HeadsAttention, {
        "in_proj_weight": (0, 3), "in_proj_bias": (0, 3), "q_proj_weight": (0, 1), "k_proj_weight": (0, 1), "v_proj_weight": (0, 1),
        "bias_k": (2, 1), "bias_v": (2, 1)}),
}
_KINDS = sorted({kind for kind, _ in _LAYERS})


class TensorParallel(Around):
    """A model of which each process of a group holds a part, and which gives the outputs, losses and gradients of the whole.

    model      what all processes hold whole at first, with the same weights, which is checked; it is changed in place
    shardings  how parameters are cut, by patterns of their names, of which the first that fits counts:
               "column"      a `Linear` whose outputs are cut, and stay so for a "row" layer after what is done element by element
               "row"         a `Linear` whose inputs are cut; its outputs are whole
               "gathered"    as "column", with outputs that are put together
               "heads"       a `MultiheadAttention`, with its output projection
               "vocabulary"  an `Embedding` whose rows are cut; of a `Linear` that makes logits the same as "column", for
                             `distributed.cross_entropy`
               What no pattern fits is whole. The parameters of one layer follow the one that is named.
    group      the processes that hold the model together: `mesh.tensor`; all by default

    All processes of the group must be given the same inputs. `state_dict` is that of the whole model, for which all of them have
    to call it, and `load_state_dict` takes it. Parameters are the parts. In a `DataParallel` of another group of a mesh, batches
    are shared out as well.

    >>> mesh = rg.distributed.Mesh(data=1, tensor=1)
    >>> net = rg.nn.Sequential(rg.nn.Linear(4, 8), rg.nn.ReLU(), rg.nn.Linear(8, 2))
    >>> net = rg.distributed.TensorParallel(net, {"0.*": "column", "2.*": "row"}, mesh.tensor)
    >>> rg.distributed.DataParallel(net, group=mesh.data)(rg.ones(3, 4)).shape
    (3, 2)
    """

    def __init__(self, model, shardings, group: Any = None):
        if isinstance(model, Around) or not isinstance(model, Module):
            raise ArgumentError(f"TensorParallel takes a model that is a Module and not parallel yet, got {type(model).__name__}")
        super().__init__(model)
        self.group = group or world()
        kinds = _declared(model, shardings)
        #: Name and share of what is cut, of one that has several names under each of them.
        self.shares: dict = {}
        if self.group.size > 1:
            check_alike(model, self.group)
            for path, (layer, kind) in kinds.items():
                self._cut(path, layer, kind)
            edited()

    def forward(self, *args, **kwargs):
        with self._guarded():
            return self.module(*args, **kwargs)

    def _cut(self, path, layer, kind):
        """Keep of a layer the part of this process, and let it compute that."""
        made, axes = _LAYERS[kind, type(layer)]
        if kind == "heads":
            if layer.num_heads % self.group.size:
                raise ArgumentError(f"num_heads of {path} must be a multiple of {self.group.size}, the number of processes, "
                                    f"got {layer.num_heads}")
            layer.num_heads //= self.group.size
            self._cut(_joined(path, "out_proj"), layer.out_proj, "row")
        for name, (axis, blocks) in axes.items():
            parameter = vars(layer).get(name)
            if parameter is None:
                continue
            if isinstance(parameter, Uninitialized):
                raise ArgumentError(f"{_joined(path, name)} has no shape yet; call the model on an example first")
            known = share_of(parameter)
            share = Share(_joined(path, name), parameter.shape if known is None else known.shape, axis, self.group, blocks, WHOLE)
            if known is None:
                parameter.share = share
                parameter.raw, parameter.grad = share.of(parameter.raw), None
            elif known != share:
                raise ArgumentError(f"{known.name} and {share.name} are one parameter, which cannot be cut in two ways")
            self.shares[_joined(path, name)] = share
        object.__setattr__(layer, "group", self.group)
        layer.__class__ = made

    def _mark(self):
        """Let each parameter know of its share; a copy of it does not."""
        for name, share in self.shares.items():
            self.module.get_parameter(name).share = share

    def __setstate__(self, state):
        self.__dict__.update(state)
        self._mark()

    @contextmanager
    def _guarded(self):
        """Within it, the model's own code cannot take the part of a parameter for the whole."""
        places = []
        for name in self.shares:
            owner, _, attribute = name.rpartition(".")
            attributes = vars(self.module.get_submodule(owner))
            places.append((attributes, attribute, attributes[attribute]))
            attributes[attribute] = Guarded(attributes[attribute], name)
        try:
            yield
        finally:
            for attributes, attribute, value in places:
                attributes[attribute] = value


def _declared(model, shardings):
    """{path: (layer, kind)} of the layers that are cut."""
    if not isinstance(shardings, dict):
        raise ArgumentError(f"shardings must be a dictionary of kinds by patterns of names, got {type(shardings).__name__}")
    for kind in shardings.values():
        if kind not in _KINDS:
            raise ArgumentError(f"a sharding is one of {', '.join(_KINDS)}, got {kind!r}")
    unused, found, inside = set(shardings), {}, set()
    for name, _ in model.named_parameters(remove_duplicate=False):
        pattern = next((pattern for pattern in shardings if fnmatchcase(name, pattern)), None)
        if pattern is None:
            continue
        unused.discard(pattern)
        path, layer = _layer_of(model, name, kind := shardings[pattern])
        if (kind, type(layer)) not in _LAYERS:
            raise ArgumentError(f"{name} is declared as {kind!r}, and {type(layer).__name__} has no such sharding")
        if found.setdefault(path, (layer, kind))[1] != kind:
            raise ArgumentError(f"{name} is declared as {kind!r}, and another parameter of its layer as {found[path][1]!r}")
        if kind == "heads":
            inside.add(id(layer.out_proj))
    if unused:
        raise ArgumentError(f"no parameter has a name that fits {', '.join(map(repr, sorted(unused)))}; names are as in "
                            f"{next(iter(model.state_dict(keep_vars=True)), 'none')}")
    return {path: pair for path, pair in found.items() if id(pair[0]) not in inside}


def _layer_of(model, name, kind):
    """(path, layer) of which a parameter is: of an output projection the attention that has it."""
    path = name.rpartition(".")[0]
    above = path.rpartition(".")[0]
    if kind == "heads" and path.rpartition(".")[2] == "out_proj" and isinstance(model.get_submodule(above), MultiheadAttention):
        path = above
    return path, model.get_submodule(path)


def _joined(path, name):
    return f"{path}.{name}" if path else name
