"""Text for people, exit codes, and what must not be printed."""

from pathlib import Path

import pytest

from ndcg_spark import errors
from ndcg_spark.text import did_you_mean, from_home, masked, masked_within, program_of, unknown_name

KNOWN = ["standard", "trec_eval", "trec_eval_9", "csv", "none", "rank", "doc_id_desc"]


def test_a_home_folder_that_is_not_known_is_refused():
    with pytest.raises(errors.ConfigurationError, match="home folder"):
        from_home(Path("~nobody-with-this-name/night.toml"))
    assert from_home(Path("~/night.toml")) == Path.home() / "night.toml"


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("treceval", "trec_eval"),
        ("TREC-eval", "trec_eval"),
        ("trec", "trec_eval"),
        ("doc_id_dsc", "doc_id_desc"),
        *((word, None) for word in ("nonsense", "random", "", "x", "tr", "\ue000")),
    ],
)
def test_similar_names(word, meant):
    assert did_you_mean(word, KNOWN) == (f" (did you mean {meant!r}?)" if meant else "")


def test_of_many_known_names_the_ten_most_similar_are_shown_and_the_others_counted():
    said = str(
        unknown_name(
            "query", "judged query", "q12", ["a", "bc", *(f"q{at:02}" for at in range(10, 20))]
        )
    )
    assert all(f"q{at}" in said for at in range(10, 20))
    assert "choose one of 12: " in said


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("s3://KEY:SECRET@bucket/in", "s3://***@bucket/in"),
        ("S3A://KEY:SEC/RE+T@bucket/in", "S3A://***@bucket/in"),
        ("s3://KEY:S@CRET@bucket", "s3://***@bucket"),
        ("hdfs://anna@namenode:9000/x", "hdfs://***@namenode:9000/x"),
        (
            "s3://K:S@bucket/in?access_key=A&region=eu",
            "s3://***@bucket/in?access_key=***&region=***",
        ),
        ("sc://host:15002/;token=abc;x-api-key=d/e=", "sc://host:15002/;token=***;x-api-key=***"),
        ("sc://host/;user_agent=my app;token=abc", "sc://host/;user_agent=*** app;token=***"),
        ("sc://host;token=a@b/c", "sc://host;token=***"),
        (
            "abfss://in:SECRET@account.dfs.core.windows.net/x",
            "abfss://***@account.dfs.core.windows.net/x",
        ),
        ("Two: s3://a:b@c/d, then 'sc://h/;t=u'.", "Two: s3://***@c/d, then 'sc://h/;t=***'."),
        ("refused token=abc, try again", "refused token=***, try again"),
        # Commands, headers and tokens; the path of a webhook is a secret as a whole.
        ("curl -u anna:pass https://host/x", "curl -u *** https://host/x"),
        ("curl -uanna:pass --user 'anna:pass word'", "curl -u*** --user '*** word'"),
        ("post --password X --port 1", "post --password *** --port 1"),
        ("post --password=X --api-key 'a b'", "post --password=*** --api-key ***"),
        ("PGPASSWORD=x SLACK_TOKEN='a b' psql", "PGPASSWORD=*** SLACK_TOKEN=*** psql"),
        ("API_KEY=abc MYKEY=abc run", "API_KEY=*** MYKEY=*** run"),
        ("-H 'Authorization: Bearer abc.def'", "-H 'Authorization: ***'"),
        ("authorization: Basic YTpi, refused", "authorization: *** refused"),
        ("X-Api-Key: abcdef", "X-Api-Key: ***"),
        ("got Bearer eyJhbGciOi.J9-_x", "got Bearer ***"),
        ("https://hooks.slack.com/services/T0/B0/XX", "https://hooks.slack.com/***"),
        ("to https://discord.com/api/webhooks/1/abc.", "to https://discord.com/***"),
        ("https://api.telegram.org/bot12:AB-c/sendMessage?x=1", "https://api.telegram.org/***"),
        ("https://host/x?sig=abc#frag", "https://host/x?sig=***"),
        ("xoxb-123456789012-abcdef and ghp_0123456789abcdef", "*** and ***"),
        *(
            (text, text)
            for text in (
                "-u of a run, and bearer of news",
                "ndcg-spark gate /data/out --config x.toml --dataset web",
                "monkey=3, KEYS=4 and rank=1",
                "https://example.org/key/a:b",
                "abfss://in@account.dfs.core.windows.net/x",
                "/data/a@b/run=bm25;k1=0.9/x.parquet",
                "file:///data/a@b;k1=c/x.parquet",
                "hdfs://namenode:9000/a@b/dataset=web/x.parquet",
                "s3://bucket/a@b/run?/dataset=web/evaluated_on=2026-11-16",
                "query 'who@where' has token: 3 rows, e.g. a=b",
            )
        ),
    ],
)
def test_secrets_are_masked(text, expected):
    assert masked(text) == expected
    assert masked(expected) == expected
    assert masked_within({"a": [text, {"b": text}], "c": (text, 1, None)}) == {
        "a": [expected, {"b": expected}],
        "c": [expected, 1, None],
    }


@pytest.mark.parametrize(
    ("command", "program"),
    [
        ("curl -u a:b https://host/x", "curl ***"),
        ("/opt/bin/notify", "notify"),
        ("python3 /opt/hook.py --to team", "python3 ***"),
        *((command, "***") for command in ("TOKEN=x curl y", "curl 'x", " ", "A=b")),
    ],
)
def test_of_a_command_only_the_program_is_told(command, program):
    assert program_of(command) == program


def test_each_failure_has_the_exit_code_of_its_kind():
    kinds = [
        "NdcgSparkError",
        "ConfigurationError",
        "ConventionError",
        "InputError",
        "EngineError",
        "StorageError",
    ]
    assert [getattr(errors, kind)("results: what happened").exit_code for kind in kinds] == [
        1,
        2,
        2,
        3,
        4,
        4,
    ]
    assert issubclass(errors.ConventionError, errors.ConfigurationError)
    assert issubclass(errors.ConfigurationError, ValueError)


@pytest.mark.parametrize(
    ("said", "line"),
    [("\n one \ntwo", "one "), ("", "ValueError"), ("x" * 1000, "x" * 300)],
    ids=["lines", "", "long"],
)
def test_the_first_line_of_an_exception_is_short_and_never_empty(said, line):
    assert errors.first_line(ValueError(said)) == line
