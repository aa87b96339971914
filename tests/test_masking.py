"""Secrets are masked in any text, and all that is none stays as it is."""

import pytest

from ndcg_spark.text import masked, masked_within


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("s3://KEY:SECRET@bucket/in", "s3://***@bucket/in"),
        ("S3A://KEY:SECRET@bucket/in", "S3A://***@bucket/in"),
        ("s3://KEY:SEC/RE+T@bucket/in", "s3://***@bucket/in"),
        ("s3://KEY:S@CRET@bucket", "s3://***@bucket"),
        ("hdfs://anna@namenode:9000/x", "hdfs://***@namenode:9000/x"),
        ("s3://bucket/in?access_key=A&secret_key=B", "s3://bucket/in?access_key=***&secret_key=***"),
        ("s3://K:S@bucket/in?region=eu", "s3://***@bucket/in?region=***"),
        ("sc://host:15002/;token=abc;x-api-key=d/e=", "sc://host:15002/;token=***;x-api-key=***"),
        ("sc://host/;user_agent=my app;token=abc", "sc://host/;user_agent=*** app;token=***"),
        ("sc://host;token=a@b/c", "sc://host;token=***"),
        ("abfss://in@account.dfs.core.windows.net/x", "abfss://in@account.dfs.core.windows.net/x"),
        ("abfss://in:SECRET@account.dfs.core.windows.net/x", "abfss://***@account.dfs.core.windows.net/x"),
        ("Two: s3://a:b@c/d, then 'sc://h/;t=u'.", "Two: s3://***@c/d, then 'sc://h/;t=***'."),
        ("refused token=abc, try again", "refused token=***, try again"),
    ],
)
def test_who_logs_in_and_what_parameters_say_is_masked(text, expected):
    assert masked(text) == expected
    assert masked(expected) == expected


@pytest.mark.parametrize(
    "text",
    [
        "/data/a@b/run=bm25;k1=0.9/x.parquet",
        "file:///data/a@b;k1=c/x.parquet",
        "hdfs://namenode:9000/a@b/dataset=web/x.parquet",
        "s3://bucket/a@b/run?/dataset=web/evaluated_on=2026-11-16",
        "sc://host:15002",
        "query 'who@where' has token: 3 rows, e.g. a=b",
        "",
    ],
)
def test_what_is_no_secret_stays(text):
    assert masked(text) == text


def test_texts_are_masked_however_deep_they_are():
    given = {"a": ["s3://k:s@b", {"c": "s3://k:s@d"}], "e": ("s3://k:s@f", 1, None, 0.5)}
    assert masked_within(given) == {"a": ["s3://***@b", {"c": "s3://***@d"}], "e": ["s3://***@f", 1, None, 0.5]}
