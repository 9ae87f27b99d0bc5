"""Can `gramian reproduce` lose? One formula of the source papers is broken at a time, in a copy, and the verdicts that change are named.

Run as ``python -m benchmarks.mutate_formulas [words of a mutation ...]``: a line per mutation, and with no words the table of docs/papers.md is written. The
exit code is the number of mutations that no verdict noticed. A broken text is looked for in all of the source, so it may move.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "gramian"
PAGE = ROOT / "docs" / "papers.md"
BLOCK = re.compile(r"(<!-- mutations -->\n).*?(<!-- /mutations -->)", flags=re.DOTALL)
WATCHED = (
    "mm-section-2", "mm-holes", "mm-algorithm-1", "mm-search", "zh-section-2", "zh-em", "zh-section-3", "zh-section-4", "zh-limit", "ac-equations",
    "ac-stiefel-steps", "ac-recursion", "ac-generation", "ac-figure-5", "ac-figure-7", "dp-table-1", "dp-table-4", "dp-limits", "dp-figure-1", "dp-figure-2", "errata",
)  # fmt: skip
"""Claims that take seconds and need no data."""
ENOUGH = 4
"""Verdicts that changed, after which no further claim is run."""
RUN = """
import sys
from gramian.cli._reproduce import outcome_of
from gramian.papers import choose_claims
left = int(sys.argv[1])
for claim in choose_claims(sys.argv[2:]):
    if left and not outcome_of(claim).expected:
        print(claim.name)
        left -= 1
"""
"""The verdicts of `gramian reproduce`, without its page and pictures."""


@dataclass(frozen=True)
class Mutation:
    """``before`` becomes ``after`` where it stands in the source."""

    formula: str
    source: str  # of the papers
    before: str
    after: str

    @property
    def places(self) -> list[Path]:
        """The files of the library, but for the referee's own, that have the text."""
        files = (path for path in sorted(SOURCE.rglob("*.py")) if path.parent.name != "papers")
        return [path for path in files for _ in range(path.read_text(encoding="utf-8").count(self.before))]

    def changed(self) -> list[str]:
        """The first claims whose verdict is not the expected one when the text is broken."""
        places = self.places
        if len(places) != 1:
            raise ValueError(
                f"{self.formula}: {self.before!r} stands {len(places)} times in the source, and must stand once."
            )
        with tempfile.TemporaryDirectory() as folder:
            copy = Path(folder) / "src"
            shutil.copytree(SOURCE.parent, copy)
            path = copy / places[0].relative_to(SOURCE.parent)
            text = path.read_text(encoding="utf-8")
            path.write_text(text.replace(self.before, self.after), encoding="utf-8")
            done = subprocess.run(
                [sys.executable, "-c", RUN, str(ENOUGH), *WATCHED],
                cwd=folder,
                env=os.environ | {"PYTHONPATH": str(copy), "OPENBLAS_NUM_THREADS": "1"},
                capture_output=True,
                text=True,
                check=False,
            )
        if done.returncode:
            raise RuntimeError(f"{self.formula}: the claims could not be run.\n{done.stderr[-2000:]}")
        return [line for line in done.stdout.splitlines() if line]


MUTATIONS = [
    # ------------------------------------------------------------ one Gaussian
    Mutation("noise: divided by D, not by D - q", "MM 2.3, DP eq. 6", "rest = dim - np.arange(len(eigenvalues) + 1)", "rest = dim - 0 * np.arange(len(eigenvalues) + 1)"),
    Mutation("loadings without the noise taken off", "MM 2.3, DP eq. 5", "return np.sqrt(np.maximum(self.eigenvalues - self.noise_variance, 0.0))", "return np.sqrt(self.eigenvalues)"),
    Mutation("posterior mean without M^-1", "MM 2.2, DP eq. 7", "seen.scores * (self.gains / safe)", "seen.scores * self.gains"),
    Mutation("posterior covariance without sigma2", "DP eq. 15 as printed", "np.diag(np.minimum(self.noise_variance / safe, 1.0))", "np.diag(1.0 / safe)"),
    Mutation("what is decoded without the mean", "DP eq. 2", "(rows if self.scale is None else rows * self.scale) + self.mean", "(rows if self.scale is None else rows * self.scale) - self.mean"),
    Mutation("density: D log sigma2 for (D - q) log sigma2", "MM 2.2, DP prop. 2", "log_noise = (dim - q) * np.log(self.noise_variance)", "log_noise = dim * np.log(self.noise_variance)"),
    Mutation("density without log|M|", "ZH eq. 16", "log_det = np.log(self.eigenvalues).sum()", "log_det = 0.0"),
    Mutation("distance: what the subspace leaves, not divided by the noise", "ZH eq. 12", "return self.t_squared(seen) + self.residual(seen) / self.noise_variance", "return self.t_squared(seen) + self.residual(seen)"),
    Mutation("distance: scores not divided by the eigenvalues", "ZH eq. 12", 'return np.einsum("ni,ni,i->n", seen.scores, seen.scores, 1.0 / safe)', 'return np.einsum("ni,ni,i->n", seen.scores, seen.scores, 1.0 + 0.0 * safe)'),
    Mutation("limiting distance: nothing taken off", "ZH eq. 13", 'return seen.distances(nearest, seen.squared_norm - np.einsum("ni,ni->n", seen.scores, nearest))', "return seen.squared_norm"),
    Mutation("C^-1 by Woodbury with the wrong sign", "ZH eq. 10", "precision = -(components.T * self.shrinkage) @ components / noise", "precision = (components.T * self.shrinkage) @ components / noise"),
    Mutation("draws with sigma2 for sigma", "DP eq. 1", "rows + np.sqrt(noise_variance) * rng.standard_normal(rows.shape)", "rows + noise_variance * rng.standard_normal(rows.shape)"),
    # ------------------------------------------------------------ what was seen in part
    Mutation("M of seen entries without the noise", "MM 2.4, AC eq. 15 with noise", "return overlap * np.outer(gains, gains) + self.noise_variance * np.eye(len(gains))", "return overlap * np.outer(gains, gains) + 1e-9 * np.eye(len(gains))"),
    Mutation("posterior covariance of seen entries without sigma2", "MM 2.4.1", "return inverse, self.noise_variance * inverse", "return inverse, inverse"),
    Mutation("density of seen entries without log|M|", "MM 2.4", "log_det = seen.of_overlaps(lambda G: np.linalg.slogdet(self._precision(G))[1]) if q else 0.0", "log_det = 0.0"),
    Mutation("overlap of all entries, seen or not", "MM 2.4", "packed = seen.astype(np.float64) @", "packed = np.ones(seen.shape) @"),
    # ------------------------------------------------------------ EM
    Mutation("EM step without M^-1", "MM 2.4.2, ZH eq. 11", "np.linalg.solve(M, moments))", "moments)"),
    Mutation("EM noise without M^-1", "MM 2.4.2", "float(np.trace(np.linalg.solve(M, loadings.T @ image)))", "float(np.trace(loadings.T @ image))"),
    Mutation("EM noise divided by D - q", "MM 2.4.2", "noise = (model.trace - explained) / model.dim\n", "noise = (model.trace - explained) / (model.dim - model.q)\n"),
    Mutation("likelihood of EM without its trace", "MM 2.2", "distance = (self.trace - explained) / state.noise", "distance = -explained / state.noise"),
    Mutation("E[zz^T] without the covariance, many holes", "MM 2.4.1", "stacked[:size] += posterior.covariance", "stacked[:size] += 0.0 * posterior.covariance"),
    Mutation("columns regressed on latents that are not centred, many holes", "MM 2.4.2", 'second = second - np.einsum("ikd,jkd->kdij", latent / safe, latent)', 'second = second - 0.5 * np.einsum("ikd,jkd->kdij", latent / safe, latent)'),
    Mutation("E[xx^T] without the covariance of the holes, few holes", "MM 2.4.1", "second += solved.covariance_sum(weights[rows], covariance)", "second += 0.0 * solved.covariance_sum(weights[rows], covariance)"),
    Mutation("noise of filled rows divided by d", "MM 2.3", "noise = float(noise_of_each_q(values[:q], float(values.sum()), len(values))[-1])", "noise = float(values[q:].sum() / len(values))"),
    # ------------------------------------------------------------ mixtures
    Mutation("responsibilities without the mixing weights", "MM 3.0.2, ZH eq. 17", "at_mean += np.log(mixing) - 0.5 * norms * precisions", "at_mean += -np.log(len(mixing)) - 0.5 * norms * precisions"),
    Mutation("responsibilities that do not sum to one", "ZH eq. 17", "shares /= totals", "shares /= totals + 0.1"),
    Mutation("mixing weights all equal", "ZH eq. 18", "return np.asarray(kept / kept.sum())", "return np.asarray((kept > 0) / (kept > 0).sum())"),
    Mutation("S_k about the old mean", "MM alg. 1", "about.scatter[k] / about.masses[k] - np.outer(move, move)", "about.scatter[k] / about.masses[k]"),
    Mutation("W_k from the old noise", "MM alg. 1 as printed", "vectors * np.sqrt(np.maximum(values - noise[k], 0.0))", "vectors * np.sqrt(np.maximum(values - 0.9 * noise[k], 0.0))"),
    Mutation("shared noise not weighted by the components", "MM alg. 1", "rest = float(sum(n * (t - values.sum()) for n, t, values in zip(masses, traces, above)))", "rest = float(sum(masses.mean() * (t - values.sum()) for n, t, values in zip(masses, traces, above)))"),
    Mutation("EM step of a component about the old mean", "MM alg. 1", "- np.outer(moves, mean[k])).T / masses[k]", "- 0.0 * np.outer(moves, mean[k])).T / masses[k]"),
    Mutation("kernel components without log(1/rho)", "ZH eq. 16", "CONSTANT_FREE = 0.0", "CONSTANT_FREE = 1.0"),
    Mutation("kernel components weighted by 1, not by responsibilities", "ZH eq. 19", "share = weights[kept] / weights[kept].sum()\n        sample = DualSample(", "share = np.ones(len(kept)) / len(kept)\n        sample = DualSample("),
    # ------------------------------------------------------------ kernels
    Mutation("RBF without the half", "ZH eq. 4", "        clip_products(products)\n        return np.exp(products, out=products)\n\n    def slope(self, products: Array) -> Array:\n        return self.profile(products)", "        clip_products(products)\n        return np.exp(2.0 * products, out=products)\n\n    def slope(self, products: Array) -> Array:\n        return self.profile(products)"),
    Mutation("Gram matrix centred on one side", "ZH eq. 2", "raw -= mean - self.weights @ mean", "raw -= self.weights @ mean"),
    Mutation("kernel rows centred on one side", "DP 2.2", "return centred - (centred @ self.affine)[:, None]", "return centred"),
    Mutation("|phi - mean|^2 with one k_y s for two", "ZH eq. 12", "subspace.mean_norm - 2 * part[:, -1]", "subspace.mean_norm - part[:, -1]"),
    Mutation("A without the shrinkage", "DP eq. 13, ZH eq. 9", "np.sqrt(weights)[:, None] * self.eigenvectors_ * np.sqrt(gaussian.shrinkage)", "np.sqrt(weights)[:, None] * self.eigenvectors_"),
    Mutation("kernel draws with sigma2 for sigma", "DP eq. 18", "self._kernel_mean(Z) + np.sqrt(self.noise_variance_) * noise", "self._kernel_mean(Z) + self.noise_variance_ * noise"),
    Mutation("kernel noise not centred", "DP eq. 14", "values - (values @ affine)[:, None])", "values)"),
    Mutation("density of k_c: prod lambda for its root", "DP prop. 7 as printed", "return float(np.log(self.roots).sum())", "return float(2.0 * np.log(self.roots).sum())"),
    Mutation("density of k_c given h about 0", "DP eq. 51", "left = x - gaussian.decode(latent) @ self.axes.T", "left = x - 0.0 * gaussian.decode(latent) @ self.axes.T"),
    Mutation("weights of a decoded point without those of the mean", "DP eq. 22", "rows sum to one unless uncentred.\"\"\"\n        return scores @ self.axes.T + self.affine", "rows sum to one unless uncentred.\"\"\"\n        return scores @ self.axes.T"),
    Mutation("smoother with centred kernel values", "DP eq. 19", "similar = np.maximum(values, 0.0)\n        total", "similar = np.maximum(values - values.mean(axis=1, keepdims=True), 0.0)\n        total"),
    Mutation("slopes towards a pre-image without the signs of its weights", "Mika's fixed point", "self.kernel_.gradient(points, self.X_, weights)", "self.kernel_.gradient(points, self.X_, np.abs(weights))"),
    # ------------------------------------------------------------ classes
    Mutation("priors left out", "ZH eq. 21", "joint = joint + np.log(self.class_prior_)", "joint = joint + 0.0 * np.log(self.class_prior_)"),
    Mutation("the class of the largest limiting distance", "ZH eq. 23", "columns.append(-np.min([model.gaussian.residual(part)", "columns.append(np.min([model.gaussian.residual(part)"),
    # ------------------------------------------------------------ views
    Mutation("missing view: overlap of all views", "AC eqs. 15, 16", "overlap: Any = None if whole else sum(trust * np.asarray(seen.overlap) for trust, seen in parts)", "overlap: Any = None"),
    Mutation("Gamma' = Lambda O", "AC fig. 5 as printed", "diagonal if rotation is None else rotation.T @ diagonal @ rotation", "diagonal if rotation is None else diagonal @ rotation"),
    Mutation("U without its scaling", "AC alg. 1, step 6", "return self.subspace.loadings(self.unscaled(gains))", "return self.subspace.loadings(self.unscaled(np.ones_like(gains)))"),
    Mutation("eigenvalues in units of the variance", "AC eq. 14", "self.eigenvalues_ = fitted.total_weight * self._gaussian.eigenvalues", "self.eigenvalues_ = 1.0 * self._gaussian.eigenvalues"),
    # ------------------------------------------------------------ Stiefel
    Mutation("Cayley curve with half the step", "Cayley-Adam", "return np.asarray(frame - 2 * rate * left @", "return np.asarray(frame - rate * left @"),
    Mutation("momentum not projected to the tangent space", "Cayley-Adam", "momentum = half - axes @ (half.T @ axes)", "momentum = 1.0 * momentum"),
    Mutation("second moment without forgetting", "Cayley-Adam", "second = kept_square * second + (1 - kept_square) * float(np.vdot(image, image))", "second = second + (1 - kept_square) * float(np.vdot(image, image))"),
    Mutation("the objective's trace", "AC eqs. 8, 12", "objectives=0.5 * (operator.trace() - scaled.scale * np.array(captured))", "objectives=operator.trace() - 0.5 * scaled.scale * np.array(captured)"),
    # ------------------------------------------------------------ series, search
    Mutation("forecasts that are not fed back", "AC sec. 5", "windows = np.concatenate([windows, held], axis=1)[:, -self.lags :]", "windows = np.concatenate([windows, windows[:, -1:]], axis=1)[:, -self.lags :]"),
    Mutation("expected improvement without its second term", "MM 5.1", "np.log(np.exp(-0.5 * z[near] ** 2 - _HALF_LOG_2PI) + z[near] * ndtr(z[near]))", "np.log(np.exp(-0.5 * z[near] ** 2 - _HALF_LOG_2PI) + np.maximum(z[near], 0.0))"),
    Mutation("expected improvement without the deviation", "MM 5.1", "return np.log(std) + log_h(", "return log_h("),
    Mutation("deviation of f with the noise of a trial", "MM 5.1", "return mean, np.sqrt(np.maximum(std**2 - noise, 1e-12))", "return mean, np.sqrt(np.maximum(std**2 - 0.0 * noise, 1e-12))"),
]  # fmt: skip


def table(found: dict[Mutation, list[str]]) -> str:
    """The lines of the page."""
    lines = [
        f"Of {len(found)} formulas broken one at a time, {sum(map(bool, found.values()))} change a verdict.",
        "",
        ":::{container} stacked",
    ]
    lines += ["| broken | of | verdicts that change |", "|---|---|---|"]
    for mutation, names in found.items():
        shown = ", ".join(f"`{name}`" for name in names) + (", ..." if len(names) == ENOUGH else "")
        lines.append(f"| {mutation.formula.replace('|', chr(92) + '|')} | {mutation.source} | {shown or '**none**'} |")
    return "\n".join([*lines, ":::"]) + "\n"


def main(words: list[str]) -> int:
    """Print what became of the mutations whose words are all given, and count those that nothing noticed."""
    found = {}
    for mutation in MUTATIONS:
        if all(word in f"{mutation.formula} {mutation.source}" for word in words):
            names = found[mutation] = mutation.changed()
            print(f"{'caught  ' if names else 'SURVIVED'}  {mutation.formula}  {' '.join(names)}", flush=True)
    if not words:
        text = PAGE.read_text(encoding="utf-8")
        PAGE.write_text(BLOCK.sub(lambda match: match[1] + table(found) + match[2], text), encoding="utf-8")
    return sum(not names for names in found.values())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
