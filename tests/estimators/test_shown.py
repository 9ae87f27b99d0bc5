"""What an editor and a notebook see of models and answers: names that can be listed, words that can be read."""

import re

import numpy as np
import pytest
from numpy.testing import assert_allclose

import gramian
from gramian import (
    PPCA,
    KernelPPCA,
    KernelPPCAClassifier,
    KernelPPCAMixture,
    LatentImputer,
    LatentOutlierDetector,
    MultiViewRKM,
    PPCAMixture,
    RKMForecaster,
    RKMRegressor,
)
from gramian.single import shown
from oracles.tables import TABLES, with_holes

X = TABLES["tall"]
MODELS = {
    "PPCA": lambda: PPCA().fit(X),
    "PPCA with holes": lambda: PPCA(2).fit(with_holes(X)),
    "KernelPPCA": lambda: KernelPPCA(2, random_state=0).fit(X),
    "PPCAMixture": lambda: PPCAMixture(2, random_state=0).fit(X),
    "KernelPPCAMixture": lambda: KernelPPCAMixture(2, random_state=0).fit(X),
    "KernelPPCAClassifier": lambda: KernelPPCAClassifier().fit(X, X[:, 0] > np.median(X[:, 0])),
    "LatentImputer": lambda: LatentImputer().fit(with_holes(X)),
    "LatentOutlierDetector": lambda: LatentOutlierDetector().fit(X),
    "MultiViewRKM": lambda: MultiViewRKM(2).fit([X[:, :3], X[:, 3:]]),
    "RKMRegressor": lambda: RKMRegressor().fit(X[:, :3], X[:, 3]),
    "RKMForecaster": lambda: RKMForecaster(lags=6, kernel="linear", random_state=0).fit(X[:, 0]),
}


def words_of(html: str) -> str:
    html = re.sub(r"(?s)<(style|script).*?</\1>", " ", html)
    return " ".join(re.sub(r"<[^>]+>", " ", html.partition("gramian-learned")[2]).split())


@pytest.mark.parametrize("name", MODELS)
def test_a_fitted_model_can_be_listed_and_shown(name):
    model = MODELS[name]()
    assert "fit" in dir(model)
    html = model._repr_html_()
    told = words_of(html)
    assert words_of(model._repr_mimebundle_()["text/html"]) == told
    assert f"latent dimensions {np.ravel(getattr(model, 'estimator_', model).n_components_)[0]}" in told
    assert f"help(gramian.{type(model).__name__})" in told
    if hasattr(model, "selection_") and hasattr(model, "explain"):
        assert model.selection_.reason[:20] in told


def test_a_model_that_is_not_fitted_tells_nothing():
    assert "gramian-learned" not in PPCA()._repr_html_()
    assert "fit" in dir(LatentImputer())


def test_the_page_of_a_frame_tells_holes_noise_and_a_bar_for_each_component():
    pd = pytest.importorskip("pandas")
    holes = with_holes(X)
    model = PPCA(2).fit(pd.DataFrame(holes, columns=list("abcdef")))
    html = model._repr_html_()
    share = f"{100 * np.isnan(holes).mean():.2g} %"
    assert f"missing cells {share}" in words_of(html)
    assert f"noise variance {model.noise_variance_:.4g}" in words_of(html)
    assert html.count("<rect ") == 2
    assert f"1: {100 * model.explained_variance_ratio_[0]:.3g} % of the variance" in html


def test_an_imputer_of_a_frame_can_be_listed():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(with_holes(X), columns=list("abcdef")).assign(kind=np.where(X[:, 0] > 0, "high", "low"))
    for model in (LatentImputer().fit(frame[list("abcdef")]), LatentImputer().fit(frame)):
        assert "impute" in dir(model)
        assert "gramian-learned" in model._repr_html_()


def test_models_link_to_the_site_that_the_package_names(monkeypatch):
    monkeypatch.setattr(shown, "site", lambda: "https://docs.example")
    page = "https://docs.example/reference/names/gramian.PPCA.html"
    assert f'href="{page}"' in PPCA(2).fit(X)._repr_html_()
    assert PPCA()._get_doc_link() == page


# ---------------------------------------------------------------- answers


def test_answers_are_read_as_text_and_as_tables():
    model = PPCA().fit(X)
    for answer, told in [
        (model.selection_, model.selection_.reason),
        (model.evidence_, "lower is better"),
        (model.posterior(X), f"latents of {len(X)} rows"),
        (model.anomaly(X), "beyond the 99 % limits"),
        (model.drift(X), "alarm"),
    ]:
        text, html = repr(answer), answer._repr_html_()
        assert told in text.splitlines()[0]
        assert told in html
        assert max(map(len, text.splitlines())) < 240
        assert html.count("<tr>") == len(text.splitlines()) - 1


def test_the_text_of_a_choice_holds_its_scores():
    selection = PPCA().fit(X).selection_
    rows = [line.split() for line in repr(selection).splitlines()[2:]]
    assert [int(row[0]) for row in rows] == selection.candidates
    assert_allclose([float(row[1]) for row in rows], selection.scores, rtol=1e-3)
    assert [int(row[0]) for row in rows if row[-1] == "taken"] == [selection.chosen]


def test_pooled_coefficients_are_read():
    from types import SimpleNamespace

    pooled = gramian.pool([SimpleNamespace(coef_=[v]) for v in (1.0, 2.0, 3.0)], covariances=[[[1.0]]] * 3)
    first, _, row = repr(pooled).splitlines()
    assert "3 tables" in first
    assert row.split()[1] == "2"
