"""Every failure that can be explained to users, each with its exit code.

A message reads ``where: what, how many, one example; what to do``. If the last part names an
option, it is a separate Advice. The text of an exception names the arguments of Python functions,
and the command line names its options.
"""

import contextlib
import importlib.util
import re
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Self

from ndcg_spark.voices import ARGUMENTS, Advice, Notice, Voice, worded

DONE = 0
BUG = 1
#: A night was published, but failed its gate or got no verdict. These are outcomes, not exceptions.
GATE_FAILED = 5
NO_VERDICT = 6

INSTALL_ADVICE = (
    "install the embedded engine with: pip install 'ndcg-spark[embedded]', "
    "or local Spark as well with: pip install "
    "'ndcg-spark[spark]' and Java 17 (Debian: apt-get install openjdk-17-jre-headless)"
)

#: The first version of Spark that has what an evaluation needs, such as Arrow tables in and out.
_FIRST_SPARK = 4
#: The advice if a cluster has an older version.
_BESIDE_THE_CLUSTER = (
    "run ndcg-spark outside the cluster, with the embedded engine in its own Python environment or "
    "container (pip install 'ndcg-spark[embedded]'), as the guide ndcg_spark/guides/SPARK_3.md "
    "shows"
)

#: The names under which the packages that an engine needs are imported.
_ENGINE_PACKAGES = ("grpc", "py4j", "pysail", "pyspark")
#: The distributions that share one folder, `pyspark`. If two are installed, one has overwritten
#: files of the other.
_SPARKS = ("pyspark", "pyspark-client", "databricks-connect")

#: The most characters of a library's error that a message repeats.
_LONGEST_LINE = 300

#: The first major version of pyarrow that needs numpy 2.
_FIRST_ARROW_WITH_NUMPY_2 = 26


class NdcgSparkError(Exception):
    """A failure that its message explains. The command line prints the message and no traceback."""

    exit_code = BUG
    #: The kind of failure, for programs; the message is for people.
    code = "bug"
    #: The table that the error is about, if `about` or `fault_of` has set it.
    table = ""
    #: All problems, if it reports several.
    problems: Sequence[Notice] = ()

    def __init__(self, sentence: str, advice: Advice | None = None, option: str = "") -> None:
        # A copy from another process is built from `args`.
        super().__init__(sentence, advice, option)

    @property
    def sentence(self) -> str:
        """What is wrong, in words that name no option."""
        return str(self.args[0])

    @property
    def advice(self) -> Advice | None:
        """What to do, if that names an option; otherwise the sentence contains it."""
        return self.args[1] if isinstance(self.args[1], Advice) else None

    @property
    def option(self) -> str:
        """The option that the sentence is about but does not name, or ""."""
        return str(self.args[2])

    def worded(self, voice: Voice) -> str:
        """The message, with options named as in this voice."""
        if not self.problems:
            return worded(self.sentence, self.advice, voice, self.option)
        problems = "; ".join(problem.worded(voice) for problem in self.problems)
        return f"{self.sentence}: {len(self.problems)} problem(s): {problems}"

    @classmethod
    def of_problems(cls, origin: str, problems: Sequence[Notice]) -> Self:
        """One error for all problems; `origin` says where they come from."""
        error = cls(origin)
        error.problems = problems
        return error

    def __str__(self) -> str:
        return self.worded(ARGUMENTS)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self)!r})"


class ConfigurationError(NdcgSparkError, ValueError):
    """The arguments, the configuration or the convention are invalid."""

    exit_code = 2
    code = "configuration"


class ConventionError(ConfigurationError):
    """A convention with an unknown option, an unknown value, or a meaningless combination."""

    code = "convention"


class InputError(NdcgSparkError):
    """Judgments or results were refused, and nothing was published."""

    exit_code = 3
    code = "input"


class MissingInputError(InputError):
    """There is no file at the path of an input. It may arrive later."""

    code = "missing_input"


class MissingColumnError(InputError):
    """A table lacks a column that the convention needs; `column` is its name."""

    code = "missing_column"

    def __init__(
        self, sentence: str, advice: Advice | None = None, option: str = "", *, column: str = ""
    ) -> None:
        super().__init__(sentence, advice, option)
        #: Which column is missing.
        self.column = column


class DuplicatesError(InputError):
    """A (query, document) pair occurs more than once, and no option says how to merge the rows."""

    code = "duplicates"


class EngineError(NdcgSparkError):
    """No engine is available, or the engine failed."""

    exit_code = 4
    code = "engine"


class ReadError(EngineError):
    """The engine cannot read a table, or there is no space for a copy. `about` names the table."""


class InstallationError(EngineError):
    """A package that an engine needs is missing or incompatible with another package.

    The message has the command that installs it.
    """

    exit_code = 2
    code = "installation"


class NotVerifiedError(EngineError):
    """An engine and plain Python computed different scores for the same rows, and nothing was
    published.
    """

    code = "not_verified"

    def __init__(
        self,
        sentence: str,
        advice: Advice | None = None,
        option: str = "",
        *,
        log_entries: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(sentence, advice, option)
        #: The log entry about the disagreement.
        self.log_entries = log_entries or {}


class StorageError(NdcgSparkError):
    """The output cannot be written or read back."""

    exit_code = 4
    code = "storage"


class UnreachableError(StorageError):
    """Remote storage did not provide a file, but may do so later. `about` names the table."""


#: The errors that are raised by code that does not know which table it reads.
_OF_TABLES = (InputError, ReadError, UnreachableError)


@contextlib.contextmanager
def about(table: str, origin: str = "") -> Iterator[None]:
    """A context that adds a table's name, and the origin of its rows, to errors about the table.

    The sentence then begins with both, as in `results (runs/a.run): no rows`, and the advice is for
    this table. An error that already names a table is not changed.
    """
    try:
        yield
    except _OF_TABLES as error:
        if not error.table:
            error.table = table
            place = f"{table} ({origin})" if origin else table
            advice = None if error.advice is None else error.advice.about(table)
            error.args = (f"{place}: {error.sentence}", advice, error.option)
        raise


@contextlib.contextmanager
def fault_of(table: str) -> Iterator[None]:
    """A context whose errors are about a table that their sentences already name."""
    try:
        yield
    except _OF_TABLES as error:
        error.table = error.table or table
        raise


@contextlib.contextmanager
def within(place: str) -> Iterator[None]:
    """A context that puts a place, such as a file of the table, before the sentence of errors.

    An empty place changes nothing.
    """
    try:
        yield
    except _OF_TABLES as error:
        if place and not error.table:
            error.args = (f"{place}: {error.sentence}", error.advice, error.option)
        raise


@contextlib.contextmanager
def engine_imports() -> Iterator[None]:
    """A context for importing an engine. Raises InstallationError if its packages are missing or
    incompatible.
    """
    try:
        yield
    except ImportError as error:
        refuse_old_numpy(_installed_version("pyarrow"), _installed_version("numpy"))
        refuse_old_spark(installed_spark())
        # If pyspark finds that a package is missing or too old, it raises its own error, which has
        # no name.
        package = (error.name or type(error).__module__).partition(".")[0]
        if package not in _ENGINE_PACKAGES:
            raise
        lacks_own_module = bool(error.name) and package == "pyspark"
        refuse_mixed_sparks(is_broken=lacks_own_module)
        raise InstallationError(f"engine: {first_line(error)}; {INSTALL_ADVICE}") from error


def _installed_version(distribution: str) -> str:
    """The installed version of a distribution, or "" if it is not installed."""
    # Imported here because help does not need it.
    import importlib.metadata

    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return ""


def refuse_old_numpy(pyarrow: str, numpy: str) -> None:
    """Raise InstallationError if this version of pyarrow cannot use this version of numpy.

    pyarrow does not declare which numpy it needs, so pip installs versions that do not fit.
    """
    has_numpy_1 = numpy.startswith("1.")
    needs_numpy_2 = bool(pyarrow) and int(pyarrow.partition(".")[0]) >= _FIRST_ARROW_WITH_NUMPY_2
    if has_numpy_1 and needs_numpy_2:
        raise InstallationError(
            f"pyarrow: {pyarrow} needs numpy 2, but numpy {numpy} is installed; "
            f"pip install 'pyarrow<{_FIRST_ARROW_WITH_NUMPY_2}', or 'numpy>=2' if nothing here "
            "needs numpy 1"
        )


def hide_library_warnings() -> None:
    """In a process of our own, hide library warnings about things that users cannot change."""
    # Our own message reports the failure.
    warnings.filterwarnings("ignore", message=r"\[RETRIES_EXCEEDED\]")
    # This program is tested with pandas 3.
    pandas_warning = "PySpark does not yet fully support pandas"
    warnings.filterwarnings("ignore", message=pandas_warning, category=FutureWarning)


def installed_spark() -> str:
    """The version of the pyspark that would be imported, or "" if there is none.

    It is not imported, because Python 3.12 and later cannot import Spark 3.5.
    """
    try:
        spec = importlib.util.find_spec("pyspark")
    except ValueError:  # a program has made a module without a spec
        return ""
    if spec is None or spec.origin is None:
        return ""
    # The Spark of spark-submit is a folder or an archive on the path, and not an installed
    # distribution, so the version is not read from metadata.
    read: Any = getattr(spec.loader, "get_data", None)
    try:
        text = read(spec.origin.replace("__init__.py", "version.py")).decode()
    except (OSError, TypeError):
        return ""
    found = re.search(r"""^__version__.*=\s*["']([^"']+)""", text, re.MULTILINE)
    return found[1] if found else ""


def refuse_old_spark(version: str) -> None:
    """Raise InstallationError for a Spark that is older than the supported versions."""
    major = re.match(r"\d+", version)
    if major and int(major[0]) < _FIRST_SPARK:
        what = f"engine: Spark {version} is not supported, only Spark {_FIRST_SPARK}"
        raise InstallationError(f"{what}; {_BESIDE_THE_CLUSTER}")


def refuse_mixed_sparks(is_broken: bool = False) -> None:
    """Raise InstallationError if packages that share the folder `pyspark` have different versions,
    or the folder is broken.
    """
    versions = _installed_sparks()
    are_different = len(set(versions.values())) > 1
    if are_different or (versions and is_broken):
        packages = " and ".join(f"{name} {version}" for name, version in versions.items())
        raise InstallationError(
            f"engine: the folder pyspark is not as {packages} installed it; "
            f"pip uninstall -y {' '.join(versions)}, then {INSTALL_ADVICE}"
        )


def _installed_sparks() -> dict[str, str]:
    """The installed packages that share the folder `pyspark`, with their versions.

    Only the first folder on the path that has one is used, because Python imports from it. A later
    one may belong to the system, behind a virtual environment.
    """
    # Imported here because help does not need it.
    import importlib.metadata

    versions: dict[str, str] = {}
    for folder in sys.path:
        for name in _SPARKS:
            for one in importlib.metadata.distributions(name=name, path=[folder]):
                versions.setdefault(name, one.version)
        if versions:
            break
    return versions


def first_line(error: BaseException) -> str:
    """The first line of an exception's text, shortened for a message; or its class name if it has
    no text.
    """
    # py4j begins with the call that failed, before the text of the Java exception.
    text = re.sub(r"\AAn error occurred while calling .*\n: ", "", str(error).strip())
    if not text:
        return type(error).__name__
    return text.splitlines()[0][:_LONGEST_LINE]
