"""Does a test notice? Small changes of policies and formulas, each in a copy of the source, and the tests that must then fail.

Run as ``python -m benchmarks.mutations [words of a mutation ...]``. A line is printed per mutation: caught, with the first test that
failed, or SURVIVED. The exit code is the number of survivors.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]


@dataclass(frozen=True)
class Mutation:
    """``before`` becomes ``after`` in a file of ``src/gramian``; one of the ``tests`` should fail."""

    says: str
    file: str
    before: str
    after: str
    tests: tuple[str, ...]

    def run(self) -> str | None:
        """The first test that failed, or None where all passed."""
        with tempfile.TemporaryDirectory() as folder:
            shutil.copytree(ROOT / "src", Path(folder) / "src", ignore=shutil.ignore_patterns("__pycache__"))
            path = Path(folder) / "src" / "gramian" / self.file
            text = path.read_text()
            if self.before not in text:
                raise ValueError(f"{self.says}: {self.before!r} does not stand in {self.file} any more.")
            path.write_text(text.replace(self.before, self.after))
            variables = os.environ | {"PYTHONPATH": str(Path(folder) / "src"), "OPENBLAS_NUM_THREADS": "1"}
            options = ["-q", "-x", "-p", "no:cacheprovider", "--no-header", "--tb=no"]
            done = subprocess.run(
                [sys.executable, "-m", "pytest", *options, *self.tests],
                cwd=ROOT,
                env=variables,
                capture_output=True,
                text=True,
                check=False,
            )
        if done.returncode == 0:
            return None
        failed = [line for line in done.stdout.splitlines() if line.startswith("FAILED ")]
        if not failed:
            raise RuntimeError(f"{self.says}: pytest ended with {done.returncode}.\n{done.stdout}{done.stderr}")
        return failed[0].removeprefix("FAILED ").split(" - ")[0]


MUTATIONS = [
    Mutation(
        "a column seen in less than 5 % of the rows counts as unseen",
        "latent/masked_em.py",
        "counts > 1e-12 * statistics.totals",
        "counts > 0.05 * statistics.totals",
        ("tests/latent/test_masked_em.py",),
    ),
    Mutation(
        "the trust of all rows without the correction of κ (one input view)",
        "targets/fit.py",
        "subspace.trusting(0, 1.0 / (folds.kept_share * checked.ridge))",
        "subspace.trusting(0, 1.0 / checked.ridge)",
        ("tests/evidence/test_limits.py", "tests/targets/test_fit.py"),
    ),
    Mutation(
        "the trust of all rows without the correction of κ (several input views)",
        "targets/fit.py",
        "subspace.trusting(view, 1.0 / (folds.kept_share * checked.ridge))",
        "subspace.trusting(view, 1.0 / checked.ridge)",
        ("tests/targets/test_fit.py",),
    ),
    Mutation(
        "the conformal level without 1 + 1/N",
        "evidence/limits.py",
        "INTERVAL * (1.0 + 1.0 / n_residuals)",
        "INTERVAL",
        ("tests/evidence/test_limits.py",),
    ),
    Mutation(
        "no noise on what the factor of the Gram matrix leaves out",
        "latent/noise_field.py",
        "values = unit @ self.factor.T + np.sqrt(self.rest) * rng.standard_normal((n_draws, size))",
        "values = unit @ self.factor.T",
        ("tests/latent/test_noise_field.py",),
    ),
    Mutation(
        "what the factor leaves out is not kept",
        "latent/noise_field.py",
        "np.maximum(diagonal - np.einsum(",
        "0.0 * np.maximum(diagonal - np.einsum(",
        ("tests/latent/test_noise_field.py",),
    ),
    Mutation(
        "a mixture starts from one run of k-means",
        "mixtures/start.py",
        "n_init=KMEANS_TRIES if first else 1",
        "n_init=1",
        ("tests/mixtures/test_start.py",),
    ),
    Mutation(
        "every start of a mixture is k-means run to its end",
        "mixtures/start.py",
        "max_iter=300 if first else 1",
        "max_iter=300",
        ("tests/mixtures/test_start.py",),
    ),
    Mutation(
        "a component that would start empty gets no share",
        "mixtures/start.py",
        "return WithEveryone(start) if (masses <= EMPTY * masses.sum()).any() else start",
        "return start",
        ("tests/mixtures/test_start.py",),
    ),
    Mutation(
        "components of rows with holes start without noise of their own",
        "mixtures/holes.py",
        "max(float(part.noise_variance[0]), STARTING_NOISE)",
        "float(part.noise_variance[0])",
        ("tests/mixtures/test_holes.py",),
    ),
    Mutation(
        "given means start with any variance",
        "mixtures/start.py",
        "max(nearest / max(table.cells, 1.0), 1e-12)",
        "1.0",
        ("tests/mixtures/test_start.py",),
    ),
    Mutation(
        "a kernel mixture keeps its first start, however much likelier another is",
        "mixtures/kernel_fit.py",
        "CLEAR_GAIN * weighted.total",
        "1e300",
        ("tests/mixtures/test_kernel_fit.py",),
    ),
    Mutation(
        "degrees of freedom of an imputed cell without q + 1",
        "latent/small_sample.py",
        "- n_components - 1, 1.0)",
        ", 1.0)",
        ("tests/latent/test_small_sample.py",),
    ),
    Mutation(
        "deviations that do not grow with leverage",
        "targets/model.py",
        "* (1.0 + leverages)[:, None])",
        ")",
        ("tests/targets/test_model.py",),
    ),
    Mutation(
        "a standard error of 0 in the one-standard-error rule",
        "evidence/selection.py",
        "np.sqrt(",
        "0.0 * np.sqrt(",
        ("tests/evidence/test_selection.py",),
    ),
]


def main(words: list[str]) -> int:
    """Print what became of the mutations whose description has all the words, and count the survivors."""
    survivors = 0
    for mutation in MUTATIONS:
        if all(word in mutation.says for word in words):
            failed = mutation.run()
            survivors += failed is None
            print(f"{'SURVIVED' if failed is None else 'caught  '}  {mutation.says}  {failed or ''}", flush=True)
    return survivors


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
