"""Each formula has one home (the table in docs/design.md): a second copy that can be told by its letters is refused."""

import re
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "gramian"

FORMULAS = {
    # what: (pattern, files or folders where it may stand, a copy that must be found out)
    "log 2π of a Gaussian density": (
        r"log\(2(\.0)? \* np\.pi\)",
        {"latent/gaussian.py", "latent/masked_em.py", "latent/dimension.py", "tuning/surrogate.py", "papers"},
        "-0.5 * (d * np.log(2 * np.pi) + log_det)",
    ),
    "shrinkage 1 - σ²/l": (
        r"1(\.0)? - [\w.]*noise\w*(\[\w+\])? / ",
        {"latent/gaussian.py", "papers"},
        "np.sqrt(1 - gaussian.noise_variance / gaussian.eigenvalues)",
    ),
    "maximum-likelihood noise (tr - Σl) / (D - q)": (
        r"trace(\(\))? - [\w.()\[\]:]*sum\(\)\)* / ",
        {"latent/gaussian.py", "papers"},
        "noise = (trace - values.sum()) / max(d - q, 1)",
    ),
    "μ + Wz + ε": (
        r"np\.sqrt\([\w.\[\]]*noise\w*(\[\w+\])?\) \* rng\.standard_normal",
        {"latent/gaussian.py"},
        "rows + np.sqrt(self.noise_variances_[v]) * rng.standard_normal(rows.shape)",
    ),
    "diag(W Cov Wᵀ)": (
        r"einsum\(\"d(\w),n?\1(\w),d\2->",
        {"latent/gaussian.py", "papers"},
        'np.einsum("dp,npr,dr->nd", W, covariance, W)',
    ),
    "the warning of pre-images that did not settle": (
        r"pre-images.* did not converge",
        {"preimage/__init__.py"},
        'f"{count} of {total} pre-images of view {name!r} did not converge."',
    ),
    "the call of a pre-image with its report": (
        r"\.transform_with_info\(",
        {"preimage", "testing"},
        "rows, info = method.transform_with_info(weights, values)",
    ),
    "linear algebra in an estimator": (r"\blinalg\b", set(), "np.linalg.svd(loadings)"),
    "the class of a subspace": (
        r"(isinstance|hasattr|getattr)\([^)]*[sS]ubspace",
        set(),
        "if isinstance(subspace, DualSubspace):",
    ),
}
ONLY_IN = {"linear algebra in an estimator": "estimators"}


@pytest.mark.parametrize("name", FORMULAS)
def test_a_formula_stands_in_its_home_only(name):
    pattern, homes, copy = FORMULAS[name]
    assert re.search(pattern, copy)
    found = []
    for path in sorted((SOURCE / ONLY_IN.get(name, ".")).rglob("*.py")):
        place = path.relative_to(SOURCE).as_posix()
        if place in homes or place.split("/")[0] in homes:
            continue
        lines = path.read_text().splitlines()
        found += [f"{place}:{n}: {line.strip()}" for n, line in enumerate(lines, 1) if re.search(pattern, line)]
    assert found == [], f"{name}: it stands in {', '.join(sorted(homes)) or 'latent'}; call that"


@pytest.mark.parametrize("place", sorted({home for _, homes, _ in FORMULAS.values() for home in homes}))
def test_the_homes_of_formulas_exist(place):
    assert (SOURCE / place).exists()
