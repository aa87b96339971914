"""The order in which Java searches Spark's files: those that most classes come from stand first."""

import os
from pathlib import Path

import pyspark
import pytest

from ndcg_spark.engine import classpath

HOME = Path(pyspark.__file__).parent


@pytest.fixture(autouse=True)
def plain(monkeypatch):
    """Nobody has put anything before Spark's own files."""
    for name in ("PYSPARK_SUBMIT_ARGS", "SPARK_CONF_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("SPARK_HOME", str(HOME))


@pytest.fixture
def settings(monkeypatch, tmp_path):
    """Spark's folder of settings, empty."""
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    return tmp_path


def files():
    return [Path(place) for place in classpath.first().split(os.pathsep)]


def test_each_name_is_one_file_of_this_spark():
    assert len(files()) >= len(classpath._FIRST)
    for name, file in zip(classpath._FIRST, files()[-len(classpath._FIRST) :], strict=True):
        assert file.is_file()
        assert file.name.startswith(name)


def test_settings_stay_before_all_files(settings):
    assert files()[0] == settings
    assert files()[1].parent == HOME / "jars"


@pytest.mark.parametrize(
    "given", ["--driver-class-path /a.jar", "--conf spark.driver.extraClassPath=/a.jar", "--properties-file a.conf"]
)
def test_files_that_arguments_put_first_stay_first(monkeypatch, given):
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", f"{given} pyspark-shell")
    assert classpath.first() == ""


def test_files_that_settings_put_first_stay_first(settings):
    (settings / "spark-defaults.conf").write_text("spark.sql.ansi.enabled true\n", encoding="ascii")
    assert classpath.first() != ""
    (settings / "spark-defaults.conf").write_text("spark.driver.extraClassPath /a.jar\n", encoding="ascii")
    assert classpath.first() == ""


@pytest.mark.parametrize("name", ["a:b", "a*b"])
def test_a_folder_whose_name_a_class_path_cannot_hold_is_left_to_spark(monkeypatch, tmp_path, name):
    home = tmp_path / name
    (home / "jars").mkdir(parents=True)
    (home / "jars" / "spark-core_2.13-4.2.1.jar").touch()
    monkeypatch.setenv("SPARK_HOME", str(home))
    assert classpath.first() == ""


def test_without_spark_there_are_no_files(monkeypatch, tmp_path):
    monkeypatch.setenv("SPARK_HOME", str(tmp_path))
    assert classpath.first() == ""
