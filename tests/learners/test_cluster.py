"""One fit spread over a real Dask cluster of two processes, one of them killed on the way."""

from __future__ import annotations

import os
import signal
import threading
import time
from typing import Any

import numpy as np
import pytest
from joblib import parallel_config
from reviewed_rows import make_data

from alignset import NoisyLabelClassifier
from alignset.learners import Blend

distributed = pytest.importorskip("distributed")

LIMIT = 300
"""Seconds after which nothing is waited for any longer."""


def kill_one_at_work(client: Any, killed: list[int]) -> None:
    """Kill the first worker that is computing something."""
    pids, last = client.run(os.getpid), time.monotonic() + LIMIT
    while time.monotonic() < last:
        for address, tasks in client.processing().items():
            if tasks and address in pids:
                os.kill(pids[address], signal.SIGKILL)
                killed.append(pids[address])
                return
        time.sleep(0.01)


@pytest.mark.filterwarnings("ignore")
def test_a_cluster_gives_the_same_bits_though_a_worker_is_killed() -> None:
    data = make_data(600)
    blend = Blend(strategies=("both", "joint"), network=None)
    alone = NoisyLabelClassifier(blend, random_state=0, n_jobs=1).fit(**data.fit_args)
    killed: list[int] = []
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
        parallel_config("dask"),
    ):
        killer = threading.Thread(target=kill_one_at_work, args=(client, killed))
        killer.start()
        spread = NoisyLabelClassifier(blend, random_state=0).fit(**data.fit_args)
        killer.join(LIMIT)
    assert len(killed) == 1
    assert np.array_equal(alone.predict_proba(data.X), spread.predict_proba(data.X))
