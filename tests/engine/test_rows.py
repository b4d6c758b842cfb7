from dataclasses import replace
from types import SimpleNamespace

import batches
import numpy as np
import pytest
import scipy.sparse
import torch
from problems import make_problem

from alignset.engine.rows import FactTable, Features, Rows, Shuffler, Sizes
from alignset.labels import UNREVIEWED
from alignset.methods import Alignment, Standard
from alignset.methods.standard import loss_known

SIZES = (23, 40, 7)


def parts(sizes=SIZES):
    return [make_problem(n, seed=i).train for i, n in enumerate(sizes)]


def rows_of(these, multiple=5, **options):
    kind = Sizes(these[0].X.shape[1], 2, 2)
    return Rows.of(these, multiple=multiple, kind=kind, device="cpu", **options)


def dealt(rows, problem, *, seeds=(0, 1, 2), epoch=1, n_batches=5):
    """The batches of one epoch for the grid rows ``problem``."""
    shuffler = Shuffler(torch.tensor(seeds), "train", n_batches)
    return list(shuffler.epoch(rows, torch.tensor(problem), torch.tensor(epoch), FactTable()))


def members(batch, q):
    """Positions of the rows that count in grid row q."""
    return sorted(batch.draw.row[q, 0][batch.weight[q, 0] > 0].tolist())


def test_padding_has_weight_zero_and_no_label():
    rows = rows_of(parts())
    assert rows.n_rows == 40
    for p, n in enumerate(SIZES):
        assert (rows.weight[p, :n] == 1).all()
        assert (rows.weight[p, n:] == 0).all()
        assert (rows.y_true[p, n:] == UNREVIEWED).all()
        assert (rows.x.dense[p, n:] == 0).all()
    assert rows_of(parts((23, 7))).n_rows == 25


def test_every_row_is_dealt_exactly_once_and_padding_never():
    rows = rows_of(parts())
    for epoch in (1, 2):
        epoch_batches = dealt(rows, [0, 1, 2], epoch=epoch)
        assert len(epoch_batches) == 5
        for q, n in enumerate(SIZES):
            seen = [i for b in epoch_batches for i in members(b, q)]
            assert sorted(seen) == list(range(n))
            sizes = [len(members(b, q)) for b in epoch_batches]
            assert max(sizes) - min(sizes) <= 1


def test_a_batch_holds_the_rows_it_names():
    these = parts()
    for b in dealt(rows_of(these), [2, 0]):
        for q, p in enumerate([2, 0]):
            index = members(b, q)
            order = b.draw.row[q, 0].tolist()
            at = [order.index(i) for i in index]
            assert torch.equal(b.x[q, 0, at], torch.from_numpy(these[p].X[index]))
            for name in ("y_seen", "y_true", "group"):
                assert (
                    getattr(b, name)[q, 0, at].tolist() == getattr(these[p], name)[index].tolist()
                )


def test_batches_of_a_problem_do_not_depend_on_what_it_is_stacked_with():
    these = parts()
    together = dealt(rows_of(these), [0, 1, 2, 2])
    for p in range(3):
        alone = dealt(rows_of([these[p]]), [0], seeds=[p])
        for a, b in zip(alone, together, strict=True):
            assert members(a, 0) == members(b, p)
            rows = members(a, 0)
            assert drawn(a, 0, rows) == drawn(b, p, rows)
        assert all(members(b, 2) == members(b, 3) for b in together)


def drawn(batch, q, rows):
    """One random number for each of the named rows."""
    order = batch.draw.row[q, 0].tolist()
    numbers = batch.draw.uniform(1)[q, 0, :, 0].tolist()
    return [numbers[order.index(i)] for i in rows]


def test_every_epoch_seed_and_stream_deals_anew():
    rows = rows_of(parts())

    def first(seeds=(0, 1, 2), epoch=1, stream="train"):
        shuffler = Shuffler(torch.tensor(seeds), stream, 5)
        b = next(iter(shuffler.epoch(rows, torch.tensor([1]), torch.tensor(epoch), FactTable())))
        return members(b, 0), drawn(b, 0, members(b, 0))

    base = first()
    for other in (first(epoch=2), first(seeds=(0, 9, 2)), first(stream="step 2")):
        assert other[0] != base[0]
        assert not set(other[1]) & set(base[1])


def test_every_batch_of_an_epoch_draws_its_own_numbers():
    batches_here = dealt(rows_of(parts()), [1])
    numbers = [set(b.draw.uniform(3).flatten().tolist()) for b in batches_here]
    assert not set.intersection(*numbers)


def test_pairs_of_rows_meet_by_chance():
    rows = rows_of(parts((20,)))
    meetings = 0
    for epoch in range(1, 201):
        meetings += sum({0, 1} <= set(members(b, 0)) for b in dealt(rows, [0], epoch=epoch))
    assert meetings / 200 == pytest.approx(3 / 19, abs=0.08)


def test_rows_of_weight_zero_are_not_dealt():
    part = parts((20,))[0]
    weight = np.ones(20)
    weight[[3, 8]] = 0
    rows = rows_of([replace(part, weight=weight)])
    seen = sorted(i for b in dealt(rows, [0]) for i in members(b, 0))
    assert seen == [i for i in range(20) if i not in (3, 8)]


@pytest.mark.parametrize("kind", [scipy.sparse.csr_matrix, scipy.sparse.csr_array])
def test_sparse_features_give_the_rows_that_dense_ones_give(kind):
    blocks = [np.round(p.X) * (p.X > 0) for p in parts()]
    problem = torch.tensor([2, 0, 1])
    index = torch.tensor([[0, 6, 30], [22, 1, 39], [39, 38, 0]])
    dense = Features(blocks, 40, "cpu", torch.float32)
    sparse = Features([kind(b) for b in blocks], 40, "cpu", torch.float32)
    assert torch.equal(sparse.take(problem, index), dense.take(problem, index))
    mixed = Features([kind(blocks[0]), blocks[1], blocks[2]], 40, "cpu", torch.float32)
    assert torch.equal(mixed.take(problem, index), dense.take(problem, index))


def test_a_sparse_block_of_integers_does_not_round_its_neighbours():
    whole, parted = np.array([[1], [0]]), np.array([[0.5], [0.25]])
    sparse = [scipy.sparse.csr_matrix(whole), scipy.sparse.csr_matrix(parted)]
    rows = Features(sparse, 2, "cpu", torch.float32).take(
        torch.tensor([0, 1]), torch.tensor([[0, 1], [0, 1]])
    )
    assert rows[:, 0, :, 0].tolist() == [[1, 0], [0.5, 0.25]]


def test_features_can_be_read_only_and_of_any_number_type():
    X = np.arange(6).reshape(3, 2)
    X.flags.writeable = False
    rows = Features([X], 5, "cpu", torch.float32).take(torch.tensor([0]), torch.tensor([[2, 4]]))
    assert rows.tolist() == [[[[4, 5], [0, 0]]]]


@pytest.mark.parametrize("step", ["standard", "step_1", "step_2a", "step_2b"])
def test_a_row_of_weight_two_equals_the_row_twice(step):
    part = make_problem(20).train
    double = np.arange(20) % 3 == 0
    heavy = replace(part, weight=np.where(double, 2.0, 1.0))
    again = np.concatenate([np.arange(20), np.flatnonzero(double)])
    twice = replace(
        part, X=part.X[again], y_seen=part.y_seen[again], y_true=part.y_true[again],
        group=part.group[again],
    )  # fmt: skip
    method = Standard() if step == "standard" else Alignment()
    loss = loss_known if step == "standard" else getattr(method, step)
    h = batches.hyper(1, 1, alpha_1=2.0, alpha_2=0.5, gamma=3.0)
    values = []
    for these in (heavy, twice):
        b = rows_of([these], multiple=1, dtype=torch.float64).everything(
            torch.tensor([0]), FactTable()
        )
        nets = SimpleNamespace(
            theta=lambda x: x[..., :2], phi=lambda x, seen: x[..., 2:3] + seen[..., :1]
        )
        values.append(loss(nets, b, h))
    torch.testing.assert_close(*values)


def facts(q=2, c=3, n=6):
    table = FactTable()
    table.replica["rate"] = torch.rand(q, c, 2)
    table.row["target"] = torch.rand(q, c, n, 4)
    table.row["kept"] = torch.rand(q, c, n)
    return table


def test_facts_of_rows_follow_their_rows():
    table, index = facts(), torch.tensor([[5, 0], [2, 3]])
    at = table.at(index, n_rows=6)
    assert at["rate"] is table.replica["rate"]
    for q in range(2):
        for j in range(2):
            i = index[q, j]
            assert torch.equal(at["target"][q, :, j], table.row["target"][q, :, i])
            assert torch.equal(at["kept"][q, :, j], table.row["kept"][q, :, i])


def test_facts_of_other_rows_are_refused():
    with pytest.raises(ValueError, match="made for 6 rows but this stage has 4"):
        facts().at(torch.tensor([[0, 1], [2, 3]]), n_rows=4)


def test_remembering_writes_at_the_rows_and_nowhere_else():
    table, index = facts(), torch.tensor([[5, 0], [2, 3]])
    before = table.row["target"].clone()
    shared = table.copy()
    table.writer(index)("target", torch.full((2, 3, 2, 4), 9.0))
    for q in range(2):
        for i in range(6):
            written = i in index[q].tolist()
            expected = torch.full((3, 4), 9.0) if written else before[q, :, i]
            assert torch.equal(table.row["target"][q, :, i], expected)
    assert torch.equal(shared.row["target"], before)


def test_a_copy_is_not_written_through_either():
    table = facts()
    before = table.row["kept"].clone()
    table.copy().writer(torch.tensor([[0], [0]]))("kept", torch.zeros(2, 3, 1))
    assert torch.equal(table.row["kept"], before)
