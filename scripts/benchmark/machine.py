"""What a figure stands for: the machine, and the version of everything."""

import importlib.metadata
import os
import platform
import re
import shutil
import subprocess
from pathlib import Path

PACKAGES = ("pysail", "pyspark", "pyarrow", "pandas", "duckdb", "polars", "ir-measures", "pytrec-eval-terrier", "ranx")


def machine() -> dict[str, str]:
    """Processor, cores, memory and system of this machine."""
    info = Path("/proc/cpuinfo")
    model = re.search(r"model name\s*: (.*)", info.read_text(encoding="utf-8")) if info.exists() else None
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "processor": model[1].strip() if model else platform.processor() or platform.machine(),
        "cores": str(os.cpu_count()),
        "memory": f"{memory / 2**30:.0f} GiB",
        "system": f"{platform.system()} {platform.release()}",
    }


def versions() -> dict[str, str]:
    """Of Python, Java and every package that computes something; without those that are not installed."""
    found = {"python": platform.python_version()}
    java = shutil.which("java")
    if java:
        said = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr  # noqa: S603
        found["java"] = said.split('"')[1] if '"' in said else "unknown"
    for package in PACKAGES:
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found
