"""Parquet as this program writes and reads it."""

import io

import pyarrow as pa
import pytest
from pyarrow import fs, orc, parquet

from ndcg_spark.parquet_files import open_writer, read_batches, read_footer, read_whole, write_table

FEW = pa.dictionary(pa.int32(), pa.string())
ROWS = pa.table({"id": pa.array(["a", "b", "a"]).cast(FEW), "grade": [1.0, None, float("nan")]})


def written(table, **how):
    """The content of a file with this table."""
    content = io.BytesIO()
    write_table(table, content, **how)
    return content.getvalue()


@pytest.mark.parametrize("compression", ["none", "lz4", "snappy"])
def test_no_file_has_statistics(compression):
    metadata = parquet.read_metadata(io.BytesIO(written(ROWS, compression=compression)))
    columns = [metadata.row_group(0).column(at) for at in range(2)]
    assert [column.is_stats_set for column in columns] == [False, False]
    assert not any(column.has_column_index for column in columns)


@pytest.mark.parametrize(("keeps", "kind"), [(True, FEW), (False, pa.string())])
def test_a_footer_has_the_types_that_the_writer_declared(keeps, kind):
    schema, rows = read_footer(io.BytesIO(written(ROWS, keeps_arrow_types=keeps)))
    assert (schema.names, schema.types, rows) == (["id", "grade"], [kind, pa.float64()], 3)


def test_only_some_columns_are_written_as_a_dictionary():
    texts = pa.table({name: ["a"] * 9 for name in ("few", "many")})
    metadata = parquet.read_metadata(io.BytesIO(written(texts, dictionaries=["few"])))
    encodings = [metadata.row_group(0).column(at).encodings for at in range(2)]
    assert ["RLE_DICTIONARY" in one for one in encodings] == [True, False]


@pytest.mark.parametrize("kind", ["parquet", "orc"])
def test_the_columns_that_are_wanted_are_read_from_all_files(tmp_path, kind):
    plain = pa.table({"id": ["a", "b"], "grade": [1.0, None], "other": [1, 2]})
    for number in range(2):
        path = tmp_path / f"{number}.{kind}"
        if kind == "parquet":
            write_table(plain, path)
        else:
            orc.write_table(plain, str(path))
    paths = [f"{tmp_path}/{number}.{kind}" for number in range(2)]
    rows = read_batches(paths, fs.LocalFileSystem(), ["grade", "id", "absent"], kind).read_all()
    assert rows.to_pydict() == {"id": ["a", "b"] * 2, "grade": [1.0, None] * 2}
    everything = read_batches(paths[:1], fs.LocalFileSystem(), kind=kind).read_all()
    assert everything.to_pydict() == plain.to_pydict()


def test_a_table_without_rows_keeps_its_columns(tmp_path):
    write_table(ROWS.slice(0, 0), tmp_path / "none.parquet")
    rows = read_batches([str(tmp_path / "none.parquet")], fs.LocalFileSystem()).read_all()
    assert (rows.column_names, rows.num_rows) == (["id", "grade"], 0)


def test_a_writer_takes_tables_one_after_the_other(tmp_path):
    with open_writer(tmp_path / "rows.parquet", ROWS.schema) as writer:
        writer.write_table(ROWS)
        writer.write_table(ROWS)
    rows = read_batches([str(tmp_path / "rows.parquet")], fs.LocalFileSystem()).read_all()
    assert rows["id"].to_pylist() == ["a", "b", "a"] * 2


def test_a_small_file_is_read_whole_and_a_damaged_page_is_seen():
    long = pa.table({"id": [f"document {at}" for at in range(1000)]})
    content = written(long, compression="none", dictionaries=False, has_checksums=True)
    assert read_whole(content).equals(long)
    damaged = bytearray(content)
    damaged[len(content) // 2] ^= 1
    with pytest.raises(OSError, match="CRC"):
        read_whole(bytes(damaged))
