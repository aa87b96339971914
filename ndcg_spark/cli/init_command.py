"""The command init, which writes templates for a nightly job."""

import re
from collections.abc import Iterator
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from ndcg_spark.cli.shared_options import FILE, argument, command
from ndcg_spark.errors import ConfigurationError, StorageError
from ndcg_spark.report.console import echo
from ndcg_spark.text import from_home

#: The project folder that the templates name; it is replaced with the user's folder.
_PROJECT = b"/opt/ndcg_spark"
#: The characters that a path may have to appear in units, scripts and TOML without quotes.
_PLAIN = re.compile(r"[\w./+@-]+")


@command(argument("folder", "Folder to write the templates to.", metavar="DIR", type=FILE))
def init(folder: Path) -> None:
    """Write templates: configuration, gate, nightly.sh, schedulers, alerts, SQL.

    The templates contain comments, and an example to try them with. Existing files are kept.
    """
    root = from_home(folder).resolve()
    if not _PLAIN.fullmatch(str(root)):
        problem = f"{root} has spaces or characters that units and scripts would need to quote"
        raise ConfigurationError(f"init: {problem}; choose another folder")
    templates = dict(_templates(files("ndcg_spark") / "templates"))
    existing = [name for name in templates if (root / name).exists()]
    if existing:
        problem = f"{len(existing):,} file(s) already exist, e.g. {root / existing[0]}"
        raise ConfigurationError(f"init: {problem}; choose another folder, or remove them")
    for name, template in templates.items():
        _write(root / name, template.read_bytes().replace(_PROJECT, str(root).encode()))
    shown = [name for name in templates if not name.startswith("conf/example/")]
    echo([f"wrote {root / name}" for name in [*shown, "conf/example"]])
    echo(_next_steps(root))


def _templates(folder: Traversable, above: str = "") -> Iterator[tuple[str, Traversable]]:
    """Each template with its path, sorted."""
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
        # pip compiles the Python programs among the templates.
        if entry.name == "__pycache__":
            continue
        if entry.is_dir():
            yield from _templates(entry, f"{above}{entry.name}/")
        else:
            yield f"{above}{entry.name}", entry


def _write(file: Path, content: bytes) -> None:
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("xb") as opened:
            opened.write(content)
        if file.suffix == ".sh":
            file.chmod(0o755)
    except OSError as error:
        problem = f"{file} cannot be written, {error.strerror}"
        raise StorageError(f"init: {problem}; check disk space and permissions") from error


def _next_steps(root: Path) -> list[str]:
    return [
        "",
        "Try it with the example:",
        f"  cd {root}",
        "  ndcg-spark evaluate --config conf/example.toml",
        '  ndcg-spark evaluate --config conf/gate.toml --accept-baseline "the first night"',
        "Then, for your own nights:",
        "  edit the lines marked EDIT in conf/nightly.toml, and uncomment its [gate]",
        "  ndcg-spark check --config conf/nightly.toml --date YYYY-MM-DD",
        "  scripts/nightly.sh YYYY-MM-DD   # one night; without a date, yesterday",
        "  schedule it: cron runs scripts/nightly.sh; or conf/systemd, conf/airflow",
        "  notify people: on_end and metrics_file in conf/nightly.toml, with conf/chat-hook.py,",
        "    conf/prometheus-alerts.yaml and conf/grafana-dashboard.json",
        "  query the nights: ndcg-spark export copies them into tables; or conf/external_tables",
    ]
