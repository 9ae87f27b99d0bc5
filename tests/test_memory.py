"""What the process may use: the machine, limits of containers above it, and of the shell."""

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from gramian import KernelPPCA, _memory
from gramian._memory import _left_by_cgroups, available_memory, readable, require_memory
from gramian.kernels import RBF
from gramian.policy import SIZES


def group(folder, limit, used, files=0, names=("memory.max", "memory.current")):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / names[0]).write_text(f"{limit}\n")
    (folder / names[1]).write_text(f"{used}\n")
    (folder / "memory.stat").write_text(f"anon 5\ninactive_file {files}\nactive_file 0\n")


def test_the_limits_of_all_groups_above_the_process_count_less_what_they_use(tmp_path):
    own = tmp_path / "own"
    own.write_text("0::/pod/box\n")
    group(tmp_path / "pod", 1000, 300, files=100)
    group(tmp_path / "pod" / "box", "max", 250)
    assert min(_left_by_cgroups(tmp_path, own)) == 800  # pages of files are given back
    group(tmp_path / "pod" / "box", 600, 250)
    assert min(_left_by_cgroups(tmp_path, own)) == 350


def test_the_first_version_of_groups_is_read_too(tmp_path):
    own = tmp_path / "own"
    own.write_text("4:memory:/box\n")
    names = ("memory.limit_in_bytes", "memory.usage_in_bytes")
    group(tmp_path / "memory" / "box", 500, 100, names=names)
    assert list(_left_by_cgroups(tmp_path, own)) == [400]
    assert list(_left_by_cgroups(tmp_path / "none", tmp_path / "nobody")) == []


def test_the_least_bound_counts_and_is_never_negative(monkeypatch):
    monkeypatch.setattr(_memory, "_free", lambda: iter([900]))
    monkeypatch.setattr(_memory, "_left_by_cgroups", lambda: iter([700, 800]))
    monkeypatch.setattr(_memory, "_left_by_the_shell", lambda: iter([]))
    assert available_memory() == 700
    monkeypatch.setattr(_memory, "_left_by_the_shell", lambda: iter([-5]))
    assert available_memory() == 0


@pytest.mark.skipif(sys.platform != "linux", reason="limits of the shell are read on Linux")
def test_a_limit_of_the_shell_leaves_less_than_it_says():
    code = (
        "import resource; resource.setrlimit(resource.RLIMIT_AS, (2**32, 2**32));"
        "from gramian._memory import available_memory; print(available_memory())"
    )
    found = int(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)
    assert 0 < found < 2**32


def test_what_does_not_fit_is_refused_in_words():
    with pytest.raises(MemoryError, match=r"The table would store 2.0 KiB, but 1.0 KiB may be used. Use less"):
        require_memory(2048, 1024, "The table", "Use less.")
    assert readable(5) == "5 bytes"


def test_the_system_is_not_asked_about_a_modest_fit(monkeypatch):
    X = np.random.default_rng(0).normal(size=(60, 3))
    asked = []
    monkeypatch.setattr(_memory, "available_memory", lambda: asked.append(1) or 0)
    model = KernelPPCA(2, kernel=RBF(2.0), preimage="smoother").fit(X)
    assert not asked
    assert model.solver_reason_
    monkeypatch.setattr(_memory, "SIZES", replace(SIZES, modest=0))
    with pytest.raises(MemoryError, match="may be used"):
        KernelPPCA(2, kernel=RBF(2.0), preimage="smoother").fit(X)
    assert asked
