import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from alignset.stack import Grid
from alignset.stack.grid import ROW_COST

masks = hnp.arrays(
    bool, st.tuples(st.integers(1, 6), st.integers(1, 7)), elements=st.booleans()
).filter(lambda running: running.any())


def replicas(grid):
    """(problem, config) of every used slot."""
    q, c = np.nonzero(grid.used)
    return list(zip(grid.problem[q].tolist(), grid.config[q, c].tolist(), strict=True))


@given(masks)
def test_packing_keeps_every_running_replica_exactly_once(running):
    grid = Grid.packed(running)
    assert sorted(replicas(grid)) == [tuple(at) for at in np.argwhere(running).tolist()]
    assert grid.config.shape == grid.used.shape == grid.shape
    assert len(grid.problem) == grid.shape[0]


@given(masks)
def test_empty_slots_repeat_a_running_replica_of_their_row(running):
    grid = Grid.packed(running)
    assert running[grid.problem[:, None], grid.config].all()


def cost(grid):
    rows, width = grid.shape
    return rows * (width + ROW_COST)


@given(masks)
def test_packing_never_costs_more_than_one_row_per_problem(running):
    counts = running.sum(1)
    plain = (counts > 0).sum() * (counts.max() + ROW_COST)
    singles = counts.sum() * (1 + ROW_COST)
    assert cost(Grid.packed(running)) <= min(plain, singles) + 1e-9


@given(masks, st.data())
def test_positions_point_at_the_same_replica_in_the_wider_grid(running, data):
    wider = Grid.packed(running)
    fewer = running & data.draw(hnp.arrays(bool, running.shape))
    if not fewer.any():
        return
    grid = Grid.packed(fewer)
    position = grid.positions_in(wider, running.shape[1])
    assert position.shape == grid.shape
    q, c = np.unravel_index(position, wider.shape)
    assert wider.used[q, c].all()
    assert (wider.problem[q] == grid.problem[:, None]).all()
    assert (wider.config[q, c] == grid.config).all()


@given(st.integers(1, 5), st.integers(1, 5))
def test_a_full_grid_has_one_row_per_problem_and_one_slot_per_config(n_problems, n_configs):
    grid = Grid.full(n_problems, n_configs)
    assert grid.shape == (n_problems, n_configs)
    assert grid.used.all()
    expected = [(p, c) for p in range(n_problems) for c in range(n_configs)]
    assert replicas(grid) == expected
    same = Grid.packed(np.ones(grid.shape, dtype=bool))
    assert same.positions_in(grid, n_configs).ravel().tolist() == list(range(len(expected)))
