"""The folder that keeps the scores, while others work in it."""

import pytest
from pyarrow import fs

from ndcg_spark.nights.store import Store


class Vanishing:
    """A file system in which a folder is removed while it is listed, the first so many times."""

    def __init__(self, times):
        self.times = times

    def get_file_info(self, asked):
        if isinstance(asked, fs.FileSelector) and self.times:
            self.times -= 1
            raise FileNotFoundError("Cannot list directory")
        return fs.LocalFileSystem().get_file_info(asked)


@pytest.fixture
def store(tmp_path):
    (tmp_path / "_staging" / "one").mkdir(parents=True)
    (tmp_path / "_staging" / "one" / "file.json").touch()
    return Store(str(tmp_path))


@pytest.mark.parametrize("times", [0, 1, 3])
def test_a_folder_that_is_removed_while_it_is_listed_is_listed_again(store, times):
    store._system = Vanishing(times)
    assert store.folders("_staging") == ["one"]
    store._system = Vanishing(times)
    assert store.files("_staging", ".json") == ["_staging/one/file.json"]
    store._system = Vanishing(times)
    assert store.touched("_staging") > 0


def test_a_folder_that_cannot_be_listed_at_all_is_told(store):
    store._system = Vanishing(1000)
    with pytest.raises(FileNotFoundError):
        store.folders("_staging")
