import json
import shutil

import numpy as np
import pandas as pd
import pytest

from alignset.data.fake_mimic import write_fake_mimic
from alignset.data.mimic import NoSubjectsWarning, RaceByPositionWarning, fiddle_layout, load_mimic
from alignset.data.mimic_check import SIZES, check_mimic


def save(path, dense):
    coords = np.stack(np.nonzero(dense))
    np.savez_compressed(
        path, coords=coords, data=dense[tuple(coords)], shape=np.array(dense.shape), fill_value=0
    )


@pytest.fixture
def tiny(tmp_path):
    """Three stays, two of one subject; returns the folder's files and the dense arrays."""
    files = fiddle_layout(tmp_path, "ARF")
    for folder in (files.features, files.population.parent, files.stays.parent):
        folder.mkdir(parents=True)
    s = np.array([[1, 0], [0, 1], [0, 1]])
    X = np.arange(3 * 4 * 5).reshape(3, 4, 5) % 3
    save(files.features / "s.npz", s)
    save(files.features / "X.npz", X)
    names = {"s": ["AGE_value:1", "ETHNICITY_value:WHITE"], "X": [*"abcde"]}
    for which, value in names.items():
        (files.features / f"{which}.feature_names.json").write_text(json.dumps(value))
    pd.DataFrame({"ID": [7, 8, 9], "ARF_LABEL": [0, 1, 0]}).to_csv(files.population, index=False)
    stays = pd.DataFrame({"ICUSTAY_ID": [9, 8, 7, 6], "SUBJECT_ID": [2, 1, 1, 3]})
    stays.to_csv(files.stays, index=False)
    return tmp_path, files, s, X


def test_time_is_laid_out_hour_after_hour_beside_s(tiny):
    folder, _, s, X = tiny
    table = load_mimic(folder, task="ARF")
    assert np.array_equal(table.X.toarray(), np.hstack([s, X.reshape(3, -1)]))
    assert table.X.format == "csr"
    assert table.X.dtype == np.float32
    assert table.feature_names[:4] == ("AGE_value:1", "ETHNICITY_value:WHITE", *_at(0, "ab"))
    assert table.feature_names[-1] == "e @ hour 3"
    assert table.X[1, table.feature_names.index("d @ hour 2")] == X[1, 2, 3]


def _at(hour, names):
    return [f"{name} @ hour {hour}" for name in names]


def test_label_group_and_subject(tiny):
    table = load_mimic(tiny[0], task="ARF")
    assert table.y.tolist() == [0, 1, 0]
    assert table.group.tolist() == [1, 0, 0]
    assert table.group_names == ("white", "non-white")
    assert table.individuals.tolist() == [1, 1, 2]


def test_the_physionet_names_are_understood(tiny):
    folder, files, s, X = tiny
    files.features.rename(files.features.parent / "ARF_4h")
    files.population.rename(files.population.parent / "ARF_4h.csv")
    assert load_mimic(folder, task="ARF").X.shape == (3, 22)
    del s, X


def test_without_the_list_of_stays_there_is_a_warning(tiny):
    tiny[1].stays.unlink()
    with pytest.warns(NoSubjectsWarning, match="different parts of a split"):
        assert load_mimic(tiny[0], task="ARF").individuals is None


def test_without_feature_names_column_34_is_taken_with_a_warning(tmp_path):
    write_fake_mimic(tmp_path, task="ARF", n_rows=40)
    named = load_mimic(tmp_path, task="ARF")
    features = fiddle_layout(tmp_path, "ARF").features
    for which in "sX":
        (features / f"{which}.feature_names.json").unlink()
    with pytest.warns(RaceByPositionWarning, match="column 34 of s"):
        unnamed = load_mimic(tmp_path, task="ARF")
    assert np.array_equal(named.group, unnamed.group)
    assert unnamed.feature_names[34] == "s34"


def test_the_race_column_is_found_by_name_not_by_place(tmp_path):
    write_fake_mimic(tmp_path, task="ARF", n_rows=40)
    before = load_mimic(tmp_path, task="ARF")
    path = fiddle_layout(tmp_path, "ARF").features / "s.feature_names.json"
    names = json.loads(path.read_text())
    names[34], names[0] = names[0], names[34]
    path.write_text(json.dumps(names))
    after = load_mimic(tmp_path, task="ARF")
    assert np.array_equal(after.group, 1 - after.X[:, [0]].toarray().ravel())
    assert not np.array_equal(after.group, before.group)


def test_a_missing_race_name_lists_the_ethnicities(tiny):
    path = tiny[1].features / "s.feature_names.json"
    path.write_text(json.dumps(["AGE_value:1", "ETHNICITY_value:ASIAN"]))
    with pytest.raises(ValueError, match="its ethnicities are ETHNICITY_value:ASIAN"):
        load_mimic(tiny[0], task="ARF")


def test_files_of_different_runs_are_told_apart(tiny):
    folder, files, _, X = tiny
    (files.features / "X.feature_names.json").write_text(json.dumps(["a"]))
    with pytest.raises(ValueError, match=r"names 1 features but X.npz has 5"):
        load_mimic(folder, task="ARF")
    (files.features / "X.feature_names.json").unlink()
    save(files.features / "X.npz", X[:2])
    with pytest.raises(ValueError, match=r"has 3 rows but s.npz has 3 and X.npz 2"):
        load_mimic(folder, task="ARF")


def test_a_half_copied_file_is_recognised(tiny):
    path = tiny[1].features / "X.npz"
    path.write_bytes(path.read_bytes()[:200])
    with pytest.raises(ValueError, match="is not a complete sparse array"):
        load_mimic(tiny[0], task="ARF")
    path.unlink()
    with pytest.raises(FileNotFoundError, match=r"X.npz is missing"):
        load_mimic(tiny[0], task="ARF")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"shape": np.array([3, 4])}, "should hold 3 axes"),
        ({"fill_value": 1}, "fill value 0"),
        ({"shape": np.array([3, 4, 4])}, "coordinates outside its shape"),
    ],
)
def test_an_array_that_contradicts_itself_is_refused(tiny, change, message):
    path = tiny[1].features / "X.npz"
    with np.load(path) as stored:
        content = dict(stored)
    np.savez(path, **(content | change))
    with pytest.raises(ValueError, match=message):
        load_mimic(tiny[0], task="ARF")


def test_labels_and_stays_must_be_there(tiny):
    folder, files, _, _ = tiny
    pd.DataFrame({"ICUSTAY_ID": [7], "SUBJECT_ID": [1]}).to_csv(files.stays, index=False)
    with pytest.raises(ValueError, match=r"lacks stay 8 of ARF_4.0h.csv, and 1 others"):
        load_mimic(folder, task="ARF")
    pd.DataFrame({"ID": [7, 8, 9]}).to_csv(files.population, index=False)
    with pytest.raises(ValueError, match="has no column ARF_LABEL; it has ID"):
        load_mimic(folder, task="ARF")
    files.population.unlink()
    with pytest.raises(FileNotFoundError, match="it holds the labels"):
        load_mimic(folder, task="ARF")


def test_an_empty_folder_and_a_wrong_task_are_explained(tmp_path):
    with pytest.raises(FileNotFoundError, match="need a PhysioNet account"):
        load_mimic(tmp_path, task="shock")
    with pytest.raises(ValueError, match="task must be 'ARF' or 'shock', got 'sepsis'"):
        load_mimic(tmp_path, task="sepsis")


class TestFake:
    def test_a_small_one_loads_end_to_end(self, tmp_path):
        for task in ("ARF", "shock"):
            write_fake_mimic(tmp_path, task=task, n_rows=400, random_state=1)
        arf, shock = (load_mimic(tmp_path, task=task) for task in ("ARF", "shock"))
        assert arf.X.shape == (400, 16_278)
        assert shock.X.shape == (400, 18_186)
        for table in (arf, shock):
            s, X = table.X[:, :98], table.X[:, 98:]
            assert s.nnz / np.prod(s.shape) == pytest.approx(0.114, abs=0.002)
            assert X.nnz / np.prod(X.shape) == pytest.approx(0.019, abs=0.001)
            assert (table.group == 0).mean() == pytest.approx(0.69, abs=0.06)
            assert 0.01 < table.y.mean() < 0.09
            assert len(np.unique(table.individuals)) < 400
            assert table.feature_names[34] == "ETHNICITY_value:WHITE"

    def test_the_sizes_are_the_papers(self):
        assert {task: (size.rows, 4 * size.features + 98) for task, size in SIZES.items()} == {
            "ARF": (15_873, 16_278),
            "shock": (19_342, 18_186),
        }

    def test_the_seed_decides(self, tmp_path):
        for name, seed in (("a", 0), ("b", 0), ("c", 1)):
            write_fake_mimic(tmp_path / name, task="ARF", n_rows=30, random_state=seed)
        a, b, c = (load_mimic(tmp_path / name, task="ARF").X for name in "abc")
        assert (a != b).nnz == 0
        assert (a != c).nnz > 0

    def test_nothing_is_overwritten(self, tmp_path, tiny):
        with pytest.raises(FileExistsError, match="may be real"):
            write_fake_mimic(tiny[0], task="ARF", n_rows=30)
        with pytest.raises(FileExistsError, match=r"icustays_MV.csv exists"):
            write_fake_mimic(tiny[0], task="shock", n_rows=30)

    def test_bad_sizes_and_tasks_are_refused(self, tmp_path):
        with pytest.raises(ValueError, match=r"n_rows must lie in \[20, 19342\], got 3"):
            write_fake_mimic(tmp_path, task="ARF", n_rows=3)
        with pytest.raises(ValueError, match="got 'sepsis'"):
            write_fake_mimic(tmp_path, task="sepsis")

    @pytest.mark.slow
    def test_the_outcome_can_be_learned(self, tmp_path):
        from sklearn.linear_model import LogisticRegression
        from sklearn.metrics import roc_auc_score

        write_fake_mimic(tmp_path, task="ARF")
        table = load_mimic(tmp_path, task="ARF")
        assert table.X.shape == (15_873, 16_278)
        assert table.y.mean() == pytest.approx(0.045, abs=0.005)
        train, test = slice(12_000), slice(12_000, None)
        model = LogisticRegression(C=0.003, max_iter=300).fit(table.X[train], table.y[train])
        assert roc_auc_score(table.y[test], model.predict_proba(table.X[test])[:, 1]) > 0.8


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A stand-in of 2 000 stays, which differs from the paper in the number of stays alone."""
    folder = tmp_path_factory.mktemp("whole")
    write_fake_mimic(folder, task="ARF", n_rows=2000)
    return folder


class TestCheck:
    @pytest.fixture
    def folder(self, whole, tmp_path):
        shutil.copytree(whole, tmp_path / "mimic")
        return tmp_path / "mimic"

    @staticmethod
    def wrong(folder):
        return {f.what: str(f) for f in check_mimic(folder, task="ARF") if not f.fine}

    def test_only_the_number_of_stays_is_wrong(self, folder, monkeypatch):
        assert list(self.wrong(folder)) == ["stays"]
        assert "2,000, the paper has 15,873; the cohort is another" in self.wrong(folder)["stays"]
        monkeypatch.setitem(SIZES, "ARF", SIZES["ARF"]._replace(rows=2000))
        assert self.wrong(folder) == {}

    def test_labels_of_another_time_are_seen(self, folder):
        path = fiddle_layout(folder, "ARF").population
        population = pd.read_csv(path)
        population.loc[:40, "ARF_LABEL"] = 1
        population.to_csv(path, index=False)
        found = self.wrong(folder)
        assert {"positive, white", "positive, non-white"} <= set(found)
        assert "the paper has 4.5 %; the labels are of another" in found["positive, white"]

    def test_another_race_column_is_seen(self, folder):
        path = fiddle_layout(folder, "ARF").features / "s.feature_names.json"
        names = json.loads(path.read_text())
        names[34], names[0] = names[0], names[34]
        path.write_text(json.dumps(names))
        assert "look at s.feature_names.json" in self.wrong(folder)["white"]

    def test_fewer_features_and_values_that_are_not_binary(self, folder):
        features = fiddle_layout(folder, "ARF").features
        (features / "X.feature_names.json").unlink()
        with np.load(features / "X.npz") as stored:
            content = dict(stored)
        inside = content["coords"][2] < 4000
        content |= {"coords": content["coords"][:, inside], "data": content["data"][inside] * 3}
        content["shape"] = np.array([2000, 4, 4000])
        np.savez(features / "X.npz", **content)
        found = self.wrong(folder)
        assert "16,098 (98 + 4 x 4,000), the paper has 16,278 (98 + 4 x 4,045)" in found["features"]
        assert "1 to 3; FIDDLE ran with discretize = no" in found["values"]

    def test_missing_names_and_subjects_are_told(self, folder):
        files = fiddle_layout(folder, "ARF")
        files.stays.unlink()
        (files.features / "s.feature_names.json").unlink()
        found = self.wrong(folder)
        assert "column 34 of s, unchecked; put s.feature_names.json into" in found["race column"]
        assert "put FIDDLE's prep/icustays_MV.csv there" in found["subjects"]

    def test_a_missing_file_is_the_only_finding(self, folder):
        fiddle_layout(folder, "ARF").population.unlink()
        (found,) = check_mimic(folder, task="ARF")
        assert "it holds the labels" in str(found)
        with pytest.raises(ValueError, match="got 'sepsis'"):
            check_mimic(folder, task="sepsis")

    def test_positives_are_exactly_as_frequent_as_in_the_paper(self, whole):
        table = load_mimic(whole, task="ARF")
        for group, rate in enumerate(SIZES["ARF"].rates):
            own = table.y[table.group == group]
            assert own.sum() == round(rate * len(own))


def test_names_in_a_text_file_are_read(tiny):
    folder, files, _, _ = tiny
    path = files.features / "s.feature_names.json"
    (files.features / "s.feature_names.txt").write_text("\n".join(json.loads(path.read_text())))
    path.unlink()
    assert load_mimic(folder, task="ARF").feature_names[1] == "ETHNICITY_value:WHITE"
