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
        "DEFAULTS.cover * (1.0 + 1.0 / n_residuals)",
        "DEFAULTS.cover",
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
        "n_init=4 if first else 1",
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
        "return WithEveryone(start) if (masses <= SEEN * masses.sum()).any() else start",
        "return start",
        ("tests/mixtures/test_start.py",),
    ),
    Mutation(
        "components of rows with holes start without noise of their own",
        "mixtures/holes.py",
        "max(float(part.noise_variance[0]), DEFAULTS.noise_floor)",
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
        "MIXTURES.clear_gain * weighted.total",
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
    Mutation(
        "rows a little beyond the others do not vote",
        "policy.py",
        '3.0,\n        "interquartile ranges',
        '0.3,\n        "interquartile ranges',
        ("tests/test_policy.py::test_the_fence_lets_gaussian_rows_vote_and_wild_ones_not",),
    ),
    Mutation(
        "a search never ends before its last candidate",
        "policy.py",
        '2,\n        "candidates"',
        '200,\n        "candidates"',
        ("tests/evidence/test_held_out.py",),
    ),
    Mutation(
        "a draw hides most of the cells",
        "policy.py",
        '0.1,\n        "of the seen cells"',
        '0.6,\n        "of the seen cells"',
        ("tests/evidence/test_cells.py::test_a_draw_hides_about_a_tenth_of_the_cells_and_draws_differ",),
    ),
    Mutation(
        "the detector has next to no noise floor",
        "policy.py",
        '1e-3,\n        "of the mean variance"',
        '1e-12,\n        "of the mean variance"',
        ("tests/test_policy.py::test_beside_exact_structure_a_small_difference_is_no_outlier",),
    ),
    Mutation(
        "outliers stay in the model of the usual rows",
        "policy.py",
        '3,\n        "fits without the rows beyond the fence"',
        '0,\n        "fits without the rows beyond the fence"',
        ("tests/test_policy.py::test_outliers_that_were_fitted_do_not_hide_each_other",),
    ),
    Mutation(
        "the best candidate, however close a simpler one is",
        "evidence/selection.py",
        "chosen = int(as_good.argmax())",
        "chosen = best",
        ("tests/evidence/test_selection.py",),
    ),
    Mutation(
        "a candidate that is behind in every fold may be as good",
        "evidence/selection.py",
        " and bool((gap <= 0).any())",
        "",
        ("tests/evidence/test_selection.py",),
    ),
    Mutation(
        "wild rows vote",
        "evidence/selection.py",
        "np.asarray(~(losses > high + JURY.fence * (high - low)))",
        "np.ones(len(losses), dtype=bool)",
        ("tests/evidence/test_dimension.py",),
    ),
    Mutation(
        "models see the rows that judge them",
        "evidence/held_out.py",
        "np.flatnonzero(~held), np.flatnonzero(held)",
        "np.arange(len(held)), np.flatnonzero(held)",
        ("tests/evidence/test_held_out.py",),
    ),
    Mutation(
        "the moments of the rows kept hold those that judge",
        "evidence/dimension.py",
        " if number != part.number",
        "",
        ("tests/evidence/test_dimension.py",),
    ),
    Mutation(
        "equals of the best end a search",
        "evidence/held_out.py",
        "found.scores[best] - found.scores > found.errors",
        "found.scores[best] - found.scores >= 0",
        ("tests/evidence/test_held_out.py",),
    ),
    Mutation(
        "every q is tried, whatever it costs",
        "evidence/held_out.py",
        "q += max(1, int(step * q))",
        "q += 1",
        ("tests/evidence/test_held_out.py",),
    ),
    Mutation(
        "a weighted quantile a tenth too low",
        "_quantiles.py",
        "(below < (level - SLACK) * below[-1:])",
        "(below < (level - 0.1) * below[-1:])",
        ("tests/test_quantiles.py",),
    ),
    Mutation(
        "held-out p-values that do not count the row itself",
        "evidence/limits.py",
        "shares = (1.0 + rest) / (1.0 + self.total)",
        "shares = rest / self.total",
        ("tests/single", "tests/latent/test_anomaly.py", "tests/estimators/test_kernel_ppca.py"),
    ),
    Mutation(
        "a draw may hide a whole column",
        "evidence/cells.py",
        "most = np.minimum(counts // 2, np.maximum(counts - 3, 0))",
        "most = counts",
        ("tests/evidence/test_cells.py",),
    ),
    Mutation(
        "folds by content are not even",
        "_content.py",
        "return place % self.n_folds",
        "return (place // 7) % self.n_folds",
        ("tests/rows/test_content.py",),
    ),
    Mutation(
        "folds that were handed in are dealt anew",
        "evidence/folds.py",
        "return Folds.given(row_hashes(X), number)",
        "return len(splits)",
        ("tests/evidence/test_folds.py",),
    ),
    Mutation(
        "folds count alike, however many rows they hold",
        "evidence/selection.py",
        "weights = evidence.weights / evidence.weights.sum()",
        "weights = np.full(n_folds, 1 / n_folds)",
        ("tests/evidence/test_selection.py",),
    ),
    Mutation(
        "a category that hardly helps takes part",
        "policy.py",
        '2.0,\n        "standard errors of the paired difference"',
        '-9.0,\n        "standard errors of the paired difference"',
        ("tests/test_policy.py::test_a_category_that_tells_nothing_changes_no_number",),
    ),
    Mutation(
        "clusters on which few pairs agree",
        "policy.py",
        '0.85,\n        "share of the pairs',
        '0.05,\n        "share of the pairs',
        ("tests/mixtures/test_cluster_strength.py",),
    ),
    Mutation(
        "held-out rows own the odds between rules",
        "policy.py",
        '0.05,\n        "of a row"',
        '50.0,\n        "of a row"',
        ("tests/classes/test_blend.py",),
    ),
    Mutation(
        "the usual width of a rule is ten times another",
        "policy.py",
        '0.6,\n        "median distances between rows"',
        '6.0,\n        "median distances between rows"',
        ("tests/classes",),
    ),
    Mutation(
        "predictions go far beyond the target's range",
        "policy.py",
        '0.1,\n        "of the target\'s range"',
        '10.0,\n        "of the target\'s range"',
        ("tests/targets/test_reach.py",),
    ),
    Mutation(
        "one far input decides",
        "policy.py",
        '3.0,\n        "robust deviations"',
        '300.0,\n        "robust deviations"',
        ("tests/targets/test_squash.py",),
    ),
    Mutation(
        "short series follow slopes that move",
        "policy.py",
        '0.7,\n        "share of the prior"',
        '0.001,\n        "share of the prior"',
        ("tests/series/test_smoothing.py",),
    ),
    Mutation(
        "one member of the rates is sure of itself",
        "policy.py",
        '40.0,\n        "values that a series counts as',
        '4000.0,\n        "values that a series counts as',
        ("tests/series/test_smoothing.py",),
    ),
    Mutation(
        "windows of series that are too short",
        "policy.py",
        '50,\n        "values",',
        '12,\n        "values",',
        ("tests/series/test_choice.py",),
    ),
    Mutation(
        "the simpler forecast is not believed beside windows",
        "policy.py",
        '3.0,\n        "to one"',
        '0.01,\n        "to one"',
        ("tests/series/test_trial.py",),
    ),
    Mutation(
        "draws of parameters that do not move",
        "policy.py",
        '10,\n        "EM steps of each draw of parameters"',
        '0,\n        "EM steps of each draw of parameters"',
        ("tests/filling",),
    ),
    Mutation(
        "samples that are copies of rows",
        "policy.py",
        "0.8,\n        \"of a new row's distance",
        "0.0,\n        \"of a new row's distance",
        ("tests/single/test_sample_prior.py",),
    ),
    Mutation(
        "structures that are far off are averaged",
        "series/trial.py",
        "FAR_OFF = 1.5",
        "FAR_OFF = 1e9",
        ("tests/series/test_trial.py",),
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
