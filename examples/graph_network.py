"""Name digits of which five of each kind have a label, by a network on a graph. Needs `pip install 'retrograde[demo]'`.

Each image is a node, joined with those most like it. A layer averages over neighbours (Kipf & Welling,
https://arxiv.org/abs/1609.02907), so that images without a label take part in learning.
"""

import numpy as np
from sklearn.datasets import load_digits
from sklearn.neighbors import kneighbors_graph

import retrograde as rg
from retrograde import nn, optim

NEIGHBOURS, LABELLED = 8, 5


def graph(images):
    """(from, to, weight) of each edge, in both directions and from each node to itself; weights make of sums averages."""
    edges = kneighbors_graph(images, NEIGHBOURS)
    sources, targets = ((edges + edges.T) > 0).nonzero()
    own = np.arange(len(images))
    sources, targets = np.concatenate([sources, own]), np.concatenate([targets, own])
    degrees = np.bincount(targets)
    return sources, targets, (1 / np.sqrt(degrees[sources] * degrees[targets])).astype(np.float32)


class GraphLayer(nn.Module):
    """A linear layer, and the weighted sum of its results over the neighbours of each node."""

    def __init__(self, inputs, outputs, edges):
        super().__init__()
        self.linear, self.edges = nn.Linear(inputs, outputs), edges

    def forward(self, nodes):
        sources, targets, weights = self.edges
        messages = rg.take(self.linear(nodes), sources, axis=0) * weights[:, None]
        return rg.segment_sum(messages, targets, len(nodes))


def trained(model, images, labels, chosen, steps=100):
    """The label that the model gives each image, after training on the `chosen` ones."""
    optimizer = optim.AdamW(model.parameters(), lr=1e-2, weight_decay=1e-2)

    @rg.jit
    def step():
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(rg.take(model(images), chosen, axis=0), labels[chosen])
        loss.backward()
        optimizer.step()

    for _ in range(steps):
        step()
    model.eval()
    with rg.no_grad():
        return model(images).argmax(axis=1).numpy()


def main():
    """Train with and without the graph, and compare on all images without a label."""
    rg.manual_seed(0)
    images, labels = (np.asarray(part) for part in load_digits(return_X_y=True))
    order = np.random.default_rng(0).permutation(len(labels))
    images, labels = images[order].astype(np.float32) / 16, labels[order]
    chosen = np.concatenate([np.flatnonzero(labels == digit)[:LABELLED] for digit in range(10)])
    others = np.setdiff1d(np.arange(len(labels)), chosen)
    edges = graph(images)
    models = {
        "without the graph": nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Dropout(0.3), nn.Linear(32, 10)),
        "with the graph": nn.Sequential(GraphLayer(64, 32, edges), nn.ReLU(), nn.Dropout(0.3), GraphLayer(32, 10, edges))}
    accuracy = {}
    for name, model in models.items():
        found = trained(model, rg.tensor(images), labels, chosen)
        accuracy[name] = float(np.mean(found[others] == labels[others]))
        print(f"{name}: accuracy {accuracy[name]:.1%} on {len(others)} images without a label")
    if accuracy["with the graph"] < max(0.8, accuracy["without the graph"]):
        raise SystemExit("the network has learned too little")


if __name__ == "__main__":
    main()
