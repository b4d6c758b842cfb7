"""Slow, obvious implementations: plain Python loops over rows, or plain torch.nn per replica."""

from __future__ import annotations

import math

import torch
from torch import nn

UNREVIEWED = -1


# networks


def sequential(params, q, c, n_blocks, depth, last_relu=True):
    """The nn.Sequential with the weights of replica (q, c) of a stacked MLP."""
    first = torch.cat([params[f"w0.{i}"][q, c] for i in range(n_blocks)], dim=1)
    weights = [first] + [params[f"w{layer}"][q, c] for layer in range(1, depth + 1)]
    layers = []
    for layer, weight in enumerate(weights):
        linear = nn.Linear(weight.shape[1], weight.shape[0]).to(weight.dtype)
        with torch.no_grad():
            linear.weight.copy_(weight)
            linear.bias.copy_(params[f"b{layer}"][q, c, :, 0])
        layers.append(linear)
        is_hidden = layer < depth
        if is_hidden and (layer < depth - 1 or last_relu):
            layers.append(nn.ReLU())
    return nn.Sequential(*layers)


def linears(net):
    return [part for part in net if isinstance(part, nn.Linear)]


# per-row losses


def cross_entropy(logits, y):
    """-log of the softmax of class y; logits a list of floats."""
    top = max(logits)
    return top + math.log(sum(math.exp(z - top) for z in logits)) - logits[y]


def sigmoid(z):
    return 1 / (1 + math.exp(-z))


def binary_cross_entropy(logit, target):
    p = sigmoid(logit)
    return -math.log(p) if target else -math.log(1 - p)


# losses of one replica; ``rows`` is a list of Row


class Row:
    """One row of one replica, as plain Python numbers."""

    def __init__(self, batch, logits, logit_beta, q, c, i):
        self.weight = float(batch.weight[q, 0, i])
        self.y_seen = int(batch.y_seen[q, 0, i])
        self.y_true = int(batch.y_true[q, 0, i])
        self.group = int(batch.group[q, 0, i])
        self.logits = logits[q, c, i].tolist()
        self.beta_logit = logit_beta[q, c, i].item()
        self.beta = sigmoid(self.beta_logit)
        self.reviewed = self.y_true != UNREVIEWED


def rows_of(batch, logits, logit_beta, q, c):
    """The rows that count, padding left out."""
    n = batch.y_seen.shape[-1]
    rows = [Row(batch, logits, logit_beta, q, c, i) for i in range(n)]
    return [r for r in rows if r.weight > 0]


def weighted_mean(pairs):
    """Mean of (value, weight) pairs; zero where there is none."""
    pairs = list(pairs)
    total = sum(w for _, w in pairs)
    return sum(v * w for v, w in pairs) / total if total else 0.0


def loss_theta(rows):
    """L_theta: mean over A of CE(y^, y)."""
    return weighted_mean((cross_entropy(r.logits, r.y_true), r.weight) for r in rows if r.reviewed)


def loss_seen(rows):
    """Mean over Abar of CE(y^, y~)."""
    return weighted_mean(
        (cross_entropy(r.logits, r.y_seen), r.weight) for r in rows if not r.reviewed
    )


def loss_known(rows):
    """Mean over all rows of CE(y^, y on A and y~ elsewhere)."""
    return weighted_mean(
        (cross_entropy(r.logits, r.y_true if r.reviewed else r.y_seen), r.weight) for r in rows
    )


def loss_phi(rows):
    """L_phi: mean over A of BCE(beta^, 1[y~ == y])."""
    return weighted_mean(
        (binary_cross_entropy(r.beta_logit, r.y_seen == r.y_true), r.weight)
        for r in rows
        if r.reviewed
    )


def clean_rate(rows, k, *, over_reviewed=True):
    """1 - r^_k: mean beta^ over G_k."""
    return weighted_mean(
        (r.beta, r.weight) for r in rows if r.group == k and (over_reviewed or not r.reviewed)
    )


def loss_noisy(rows, n_groups, *, over_reviewed=True, equal_groups=False, rates=None):
    """L'_theta: 1/|Abar| sum_k 1/(1 - r^_k) sum over Abar and G_k of beta^ CE(y^, y~)."""
    outside = [r for r in rows if not r.reviewed]
    size = sum(r.weight for r in outside)
    groups_here = {r.group for r in outside}
    total = 0.0
    for k in range(n_groups):
        mine = [r for r in outside if r.group == k]
        if not mine:
            continue
        rate = clean_rate(rows, k, over_reviewed=over_reviewed) if rates is None else rates[k]
        part = sum(r.weight * r.beta * cross_entropy(r.logits, r.y_seen) for r in mine) / rate
        if equal_groups:
            total += part / sum(r.weight for r in mine) / len(groups_here)
        else:
            total += part / size
    return total


# early stopping, one model at a time; both return (epochs run, kept epoch, score that counts)


def patience(start, scores, epochs):
    """Stop after ``epochs`` epochs in a row without a new best; NaN is never a best."""
    best, kept, since = (-math.inf if math.isnan(start) else start), 0, 0
    for epoch, score in enumerate(scores, 1):
        if score > best:
            best, kept, since = score, epoch, 0
        else:
            since += 1
        if since == epochs:
            return epoch, kept, best
    return len(scores), kept, best


def block_mean(scores, length, tolerance):
    """Stop at the first block of epochs whose mean is not better than the best by ``tolerance``."""
    best, kept = -math.inf, 0
    for end in range(length, len(scores) + 1, length):
        mean = sum(scores[end - length : end]) / length
        if not mean > best + tolerance:
            return end, kept, best
        best, kept = mean, end
    return len(scores), kept, best
