"""Pictures show the numbers of the model."""

import numpy as np
import pytest
from matplotlib.collections import EllipseCollection
from numpy.testing import assert_allclose
from scipy import stats
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from gramian import (
    PPCA,
    KernelPPCA,
    KernelPPCAClassifier,
    KernelPPCAMixture,
    MultiViewRKM,
    RKMForecaster,
    RKMRegressor,
    datasets,
    kernels,
    plotting,
)

pd = pytest.importorskip("pandas")


def lines(ax):
    return {line.get_label(): line for line in ax.get_lines()}


def test_scree_bars_are_eigenvalues_and_the_floor_is_the_mean_of_the_discarded(ppca, iris, ax):
    plotting.scree(ppca, iris, ax=ax, log=False)
    heights = np.array([bar.get_height() for bar in ax.patches])
    spectrum = np.linalg.eigvalsh(np.cov(iris.T, bias=True))[::-1]
    assert_allclose(heights, spectrum, rtol=1e-8)
    floor = next(line for name, line in lines(ax).items() if "noise floor" in name)
    assert_allclose(floor.get_ydata()[0], spectrum[2:].mean())
    assert ax.get_yscale() == "linear"


def test_scree_of_eigenvalues_far_apart_is_logarithmic_and_says_what_it_cut(shapes):
    model = KernelPPCA(n_components=40, kernel=kernels.RBF(4.0)).fit(shapes)
    ax = plotting.scree(model, max_bars=10)
    assert ax.get_yscale() == "log"
    assert len(ax.patches) == 10
    assert "10 of 40" in ax.get_xlabel()
    with pytest.raises(TypeError, match="PPCA only"):
        plotting.scree(model, shapes)


def test_the_floor_is_one_where_every_view_has_its_own_noise(several):
    ax = plotting.scree(several)
    floor = next(line for name, line in lines(ax).items() if "noise floor" in name)
    assert floor.get_ydata()[0] == 1.0
    assert min(bar.get_height() for bar in ax.patches) > 1.0


def test_cumulative_variance_ends_at_the_share_explained(ppca):
    ax = plotting.cumulative_variance(ppca)
    assert_allclose(ax.get_lines()[0].get_ydata()[-1], ppca.explained_variance_ratio_.sum())
    assert [text.get_text() for text in ax.texts] == ["90 %: 1", "95 %: 2"]


def test_heldout_curve_peaks_at_the_rank_of_the_structure_also_with_holes_in_a_frame():
    X = datasets.make_low_rank(120, 7, rank=2, random_state=0)
    X = pd.DataFrame(datasets.make_missing(X, 0.05, random_state=0), columns=list("abcdefg"))
    ax = plotting.heldout_curve(PPCA(n_components=4).fit(X), X, n_components=[1, 2, 3, 5], cv=3)
    assert {"best: q = 2", "this model: q = 4"} <= set(lines(ax))
    assert list(lines(ax)["mean of 3 folds"].get_xdata()) == [1, 2, 3, 5]


def test_an_ellipse_holds_the_latent_with_the_probability_asked_for(holed, ppca_holed):
    ax = plotting.latent_scatter(ppca_holed, holed, components=(1, 0), level=0.8)
    drawn = next(one for one in ax.collections if isinstance(one, EllipseCollection))
    posterior = ppca_holed.posterior(holed)
    areas = np.pi * drawn._widths * drawn._heights  # half axes; their getters came with Matplotlib 3.10
    determinants = np.linalg.det(posterior.covariance)
    assert_allclose(areas, np.pi * stats.chi2(2).ppf(0.8) * np.sqrt(determinants), rtol=1e-6)
    assert_allclose(np.asarray(drawn.get_offsets()), posterior.mean[:, [1, 0]])
    # the long axis points along the leading eigenvector
    i = int(np.argmax(areas))
    angle = drawn._angles[i]
    leading = np.linalg.eigh(posterior.covariance[i][::-1, ::-1])[1][:, 1]
    assert_allclose(abs(np.cos(angle) * leading[0] + np.sin(angle) * leading[1]), 1.0, rtol=1e-6)
    low, high = ax.get_xlim()
    assert low < (drawn.get_offsets()[:, 0]).min()
    assert high > (drawn.get_offsets()[:, 0]).max()


def test_labels_are_classes_or_measurements(ppca, iris):
    classes = plotting.latent_scatter(ppca, iris, np.repeat(["a", "b", "c"], 50))
    assert [text.get_text() for text in classes.get_legend().get_texts()] == ["a", "b", "c"]
    measured = plotting.latent_scatter(ppca, iris, iris[:, 0], label_name="length")
    assert len(measured.figure.axes) == 2
    assert measured.figure.axes[1].get_ylabel() == "length"
    with pytest.raises(ValueError, match="labels has shape"):
        plotting.latent_scatter(ppca, iris, [0, 1])
    with pytest.raises(ValueError, match="two different numbers below 2"):
        plotting.latent_scatter(ppca, iris, components=(0, 2))


@pytest.mark.parametrize("q", [0, 1])
def test_a_model_of_no_or_one_component_is_drawn_over_the_rows(q, iris):
    ax = plotting.latent_scatter(PPCA(n_components=q).fit(iris), iris)
    assert ax.get_xlabel() == "row"
    assert plotting.scree(PPCA(n_components=q).fit(iris)).figure is not None


def test_biplot_arrows_have_the_length_of_the_share_they_explain(ppca, iris):
    ax = plotting.biplot(ppca, iris, feature_names=list("abcd"))
    circle = np.abs(ax.get_lines()[0].get_xdata()).max()
    tips = np.array([note.xy for note in ax.texts if not note.get_text()]) / circle
    shares = 1 - ppca.noise_variance_ / np.diag(ppca.get_covariance())
    assert_allclose(sorted((tips**2).sum(axis=1)), sorted(shares), rtol=1e-6)
    assert sorted(note.get_text() for note in ax.texts if note.get_text()) == list("abcd")
    with pytest.raises(TypeError, match="two components"):
        plotting.biplot(PPCA(n_components=1).fit(iris), iris)


def test_reconstruction_grid_shows_original_reconstruction_and_their_difference(ppca_digits, digits):
    ax = plotting.reconstruction_grid(ppca_digits, digits, n_rows=3)
    pictures = np.array([np.asarray(image.get_array()).ravel() for image in ax.images]).reshape(3, 3, 64)
    rows = [0, 99, 199]
    assert_allclose(pictures[0], digits[rows])
    assert_allclose(pictures[1], ppca_digits.reconstruct(digits[rows]))
    assert_allclose(pictures[2], pictures[0] - pictures[1], atol=1e-12)
    # lines from the top: the first is the original, the labels stand at their middles
    assert ax.images[0].get_extent()[3] == 0
    assert_allclose(ax.get_yticks(), [-0.5, -0.5 - 1 - 0.12, -0.5 - 2 * (1 + 0.12)])
    with pytest.raises(ValueError, match="60 pixels"):
        plotting.reconstruction_grid(ppca_digits, digits, image_shape=(6, 10))


def test_a_picture_that_is_not_square_keeps_its_shape(ppca_digits, digits):
    ax = plotting.latent_traversal(ppca_digits, image_shape=(4, 16), components=[1], n_steps=3, extent=1.5)
    assert ax.images[0].get_array().shape == (4, 16)
    expected = ppca_digits.inverse_transform(np.outer([-1.5, 0.0, 1.5], np.eye(6)[1]))
    assert_allclose([np.asarray(image.get_array()).ravel() for image in ax.images], expected)
    assert [text.get_text() for text in ax.get_xticklabels()] == ["−1.5", "0", "+1.5"]
    with pytest.raises(ValueError, match="of the 6 components"):
        plotting.latent_traversal(ppca_digits, components=[6])


def test_samples_are_the_models(ppca_digits):
    ax = plotting.samples_grid(ppca_digits, n_samples=5, n_columns=2, random_state=3)
    drawn = [np.asarray(image.get_array()).ravel() for image in ax.images]
    assert_allclose(drawn, ppca_digits.sample(5, random_state=3))


def test_kernel_components_are_antisymmetric_maps_of_the_scores(kernel_model, shapes):
    axes = plotting.kernel_components(kernel_model, shapes, components=[2], n_grid=15)
    assert axes[0].get_title() == "component 3"
    filled = next(one for one in axes[0].collections if one.get_array() is not None)
    assert_allclose(filled.get_clim()[0], -filled.get_clim()[1])
    with pytest.raises(ValueError, match="2 columns"):
        plotting.kernel_components(kernel_model, np.ones((5, 3)))


def test_missing_cells_are_coloured_and_observed_ones_grey(ppca_holed, holed):
    ax = plotting.missingness_map(ppca_holed, holed)
    picture = np.asarray(ax.images[0].get_array())
    grey = np.ptp(picture, axis=2) < 1e-9
    assert grey[~np.isnan(holed)].all()
    assert grey[np.isnan(holed)].mean() < 0.05
    assert f"{100 * np.isnan(holed).mean():.1f} %" in ax.get_title()
    many = np.tile(holed, (5, 1))
    assert np.asarray(plotting.missingness_map(ppca_holed, many).images[0].get_array()).shape == (400, 4, 3)


def test_calibration_is_on_the_diagonal_for_a_true_model_and_below_it_for_a_bold_one():
    X = datasets.make_low_rank(1500, 8, rank=2, noise=0.5, random_state=0)
    model = PPCA(n_components=2).fit(X[:500])
    coverage = plotting.interval_calibration(model, X[500:]).get_lines()[1]
    assert_allclose(coverage.get_ydata(), coverage.get_xdata(), atol=0.06)
    bold = PPCA(n_components=2, noise_variance=0.2 * model.noise_variance_).fit(X[:500])
    coverage = plotting.interval_calibration(bold, X[500:]).get_lines()[1]
    assert coverage.get_ydata()[40] < coverage.get_xdata()[40] - 0.1
    with pytest.raises(ValueError, match="hides none"):
        plotting.interval_calibration(model, X[:1], share=1e-6)


def test_calibration_of_a_regressor_uses_its_own_intervals(iris):
    model = RKMRegressor(n_components=3, random_state=0).fit(iris[::2, :3], iris[::2, 3])
    ax = plotting.interval_calibration(model, iris[1::2, :3], iris[1::2, 3])
    mean, std = model.predict(iris[1::2, :3], return_std=True)
    inside = np.mean(np.abs(iris[1::2, 3] - mean) <= stats.norm.ppf(0.95) * std)
    assert f"nominal 90 %: {100 * inside:.0f} % inside" in lines(ax)


def test_em_trace_is_the_likelihoods_and_a_closed_form_has_none(ppca_holed, ppca):
    ax = plotting.em_trace(ppca_holed, name="holes")
    assert_allclose(ax.get_lines()[0].get_ydata(), ppca_holed.log_likelihoods_)
    assert plotting.em_trace(ppca_holed, name="again", ax=ax) is ax
    assert ax.get_lines()[0].get_color() != ax.get_lines()[1].get_color()
    with pytest.raises(ValueError, match="closed form"):
        plotting.em_trace(ppca)


@pytest.mark.parametrize("statistic", ["spe", "t2"])
def test_histogram_counts_the_rows_beyond_the_limit(statistic, ppca, iris, kernel_model, shapes):
    ax = plotting.anomaly_histogram(ppca, iris, statistic=statistic, level=0.8)
    found = ppca.anomaly(iris, level=0.8)
    beyond = int((getattr(found, statistic) > getattr(found, f"limit_{statistic}")).sum())
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    assert beyond > 0
    assert f"{beyond} rows beyond" in texts
    assert f"{len(iris) - beyond} rows within" in texts
    assert "rows within" in plotting.anomaly_histogram(kernel_model, shapes).get_legend().get_texts()[0].get_text()


def test_histogram_of_a_detector_shows_its_own_threshold(detector, shapes):
    texts = [text.get_text() for text in plotting.anomaly_histogram(detector, shapes).get_legend().get_texts()]
    assert f"{int((detector.predict(shapes) < 0).sum())} rows beyond" in texts


@pytest.mark.parametrize("index", [None, pd.date_range("2024-01-01", periods=60, freq="h"), np.arange(60) * 2.5])
def test_control_chart_marks_the_rows_beyond_and_puts_the_guilty_column_first(index, render):
    X = datasets.make_low_rank(160, 6, rank=2, random_state=0)
    X[140:, 4] += 5.0
    model = PPCA(n_components=2).fit(X[:100])
    axes = plotting.control_chart(model, X[100:], index=index, max_columns=3)
    found = model.anomaly(X[100:])
    assert f"beyond: {int((found.spe > found.limit_spe).sum())}" in lines(axes[1])
    assert f"beyond: {int((found.t2 > found.limit_t2).sum())}" in lines(axes[0])
    assert axes[2].get_yticklabels()[0].get_text() == "column 4"
    assert len(axes[2].get_yticks()) == 3
    render(axes[0].figure)
    frame = pd.DataFrame(X[100:], index=index)
    assert plotting.control_chart(model, frame.to_numpy(), index=frame.index)[0].get_xlim() == axes[0].get_xlim()


def test_control_chart_refuses_an_index_that_is_no_time(ppca, iris):
    with pytest.raises(ValueError, match="index must hold numbers or times"):
        plotting.control_chart(ppca, iris, index=["a"] * 150)
    with pytest.raises(ValueError, match="index has shape"):
        plotting.control_chart(ppca, iris, index=[1, 2])


def test_responsibilities_are_the_models(mixture, shapes):
    ax = plotting.responsibilities(mixture, shapes, kind="bars")
    shares = mixture.predict_proba(shapes)
    first = ax.patches[0].get_data()
    assert_allclose(np.sort(first.values), np.sort(shares[:, 0]))
    assert_allclose(ax.patches[1].get_data().values, 1.0)


def test_responsibilities_of_a_classifier_carry_the_names_of_its_classes(shapes):
    y = np.where(shapes[:, 0] > shapes[:, 0].mean(), "right", "le$t")
    model = KernelPPCAClassifier(n_components=3, kernel=kernels.RBF(4.0), noise_variance=0.01).fit(shapes, y)
    ax = plotting.responsibilities(model, shapes, n_grid=15)
    counts = {text.get_text() for text in ax.get_legend().get_texts()}
    assert counts == {
        f"{name} ({int((model.predict(shapes) == raw).sum())})"
        for name, raw in ((r"le\$t", "le$t"), ("right", "right"))
    }


def test_view_shares_sum_to_one_and_follow_the_loadings(views):
    model = MultiViewRKM(2, noise_variance=0.0).fit(views)
    ax = plotting.view_contributions(model)
    heights = np.array([bar.get_height() for bar in ax.patches]).reshape(2, 2)
    assert_allclose(heights.sum(axis=0), 1.0)
    squares = np.array([(W**2).sum(axis=0) for W in model.loadings_])
    assert_allclose(heights, squares / squares.sum(axis=0), rtol=1e-8)


def test_a_component_of_one_view_alone_has_one_colour():
    rng = np.random.default_rng(0)
    z = rng.standard_normal((200, 2))
    z -= z.mean(axis=0)
    z[:, 1] -= z[:, 0] * (z[:, 0] @ z[:, 1]) / (z[:, 0] @ z[:, 0])
    model = MultiViewRKM(2, kernel="linear").fit({"a": 3 * z[:, :1] * np.ones((1, 3)), "b": z[:, 1:] * np.ones((1, 2))})
    heights = [bar.get_height() for bar in plotting.view_contributions(model).patches]
    assert_allclose(heights, [1, 0, 0, 1], atol=1e-10)


def test_view_prediction_counts_what_is_inside(several, views):
    others = {"left": views["left"]}
    ax = plotting.view_prediction(several, others, "right", views["right"], column=2, level=0.5, column_name="yi$eld")
    mean, std = several.predict_view(others, "right", return_std=True)
    inside = np.mean(np.abs(views["right"] - mean)[:, 2] <= stats.norm.ppf(0.75) * std[:, 2])
    assert f"{100 * inside:.0f} % inside the 50 % intervals" in ax.get_title()
    assert ax.get_xlabel() == r"true yi\$eld"
    with pytest.raises(ValueError, match="column=3"):
        plotting.view_prediction(several, others, "right", views["right"], column=3)
    with pytest.raises(ValueError, match="truth has 2"):
        plotting.view_prediction(several, others, "right", views["right"][:, :2])
    with pytest.raises(ValueError, match="not one of the views"):
        plotting.view_prediction(several, others, "up", views["right"])


def test_a_view_with_a_kernel_is_drawn_with_intervals_too(views):
    model = MultiViewRKM(3, kernel=["linear", "rbf"], random_state=0).fit(views)
    ax = plotting.view_prediction(model, {"left": views["left"]}, 1, views["right"])
    assert "inside the 90 % intervals" in ax.get_title()
    assert "R²" in ax.get_title()


class RandomWalk(BaseEstimator):
    """The forecast of a random walk: the last value, with a standard deviation √h after h steps; two series."""

    def fit(self, y):
        self.last_ = np.asarray(y)[-1]
        return self

    def predict(self, steps):
        return np.tile(self.last_, (steps, 1))

    def predict_quantiles(self, steps, quantiles):
        reach = np.sqrt(np.arange(1, steps + 1))[:, None]
        return np.array([self.predict(steps) + stats.norm.ppf(one) * reach for one in quantiles])


def test_the_fan_is_the_models_intervals_from_the_last_value_on(render):
    y = np.cumsum(np.random.default_rng(0).standard_normal((80, 2)), axis=0)
    model = RandomWalk().fit(y[:60])
    ax = plotting.forecast_fan(model, 20, past=y[:60], actual=y[60:], series=1, levels=(0.5, 0.9), n_past=30)
    wide, narrow = (band.get_paths()[0].vertices for band in ax.collections)
    lower, upper = model.predict_quantiles(20, [0.05, 0.95])
    assert_allclose([wide[:, 1].min(), wide[:, 1].max()], [lower[-1, 1], upper[-1, 1]])
    assert np.ptp(narrow[:, 1]) < np.ptp(wide[:, 1])
    assert_allclose(lines(ax)["past"].get_ydata(), y[30:60, 1])
    assert_allclose(lines(ax)["forecast"].get_ydata()[0], y[59, 1])
    inside = int(((y[60:, 1] >= lower[:, 1]) & (y[60:, 1] <= upper[:, 1])).sum())
    assert f"actual ({inside} of 20 in 90 %)" in lines(ax)
    render(ax.figure)
    assert plotting.forecast_fan(model, 3, ax=ax) is ax
    with pytest.raises(ValueError, match="series=2"):
        plotting.forecast_fan(model, 3, series=2)


def test_candidates_of_a_forecaster_are_told_in_words_best_first(render):
    y = 20 + np.tile([0.0, 4.0, 1.0, 2.0], 20) + np.random.default_rng(0).standard_normal(80)
    model = RKMForecaster(3, season="auto", difference=0, transform=None, kernel="linear", n_folds=None).fit(y)
    ax = plotting.selection(model)
    told = [text.get_text() for text in ax.get_yticklabels()]
    best = model.selection_.candidates[int(np.argmax(model.selection_.scores))]
    assert len(told) == len(model.selection_.candidates)
    said = {name: best[name] for name in ("lags", "season", "kernel", "averaged") if best.get(name)}
    assert told[0] == ", ".join(f"{name} {value}" for name, value in said.items())
    assert "lags 3, season 4, kernel linear" in told
    assert not any("None" in text for text in told)
    assert ax.yaxis_inverted()
    render(ax.figure)


def test_the_fan_of_a_forecaster_begins_with_its_own_series_and_marks_seasons(render):
    y = np.tile([0.0, 4.0, 1.0, 2.0], 20) + np.random.default_rng(0).standard_normal(80)
    given = {"season": 4, "difference": 0, "transform": None, "kernel": "linear"}
    ax = plotting.forecast_fan(RKMForecaster(2, **given).fit(y), 4, n_past=20)
    assert_allclose(lines(ax)["past"].get_ydata(), y[-20:])
    marks = {float(line.get_xdata()[0]) for line in ax.lines if len(set(line.get_xdata())) == 1}
    assert {-16.0, -4.0, 0.0, 4.0} <= marks
    render(ax.figure)


def test_a_table_of_one_column_or_of_thousands_is_drawn(render):
    rng = np.random.default_rng(0)
    for d in (1, 5000):
        X = rng.standard_normal((30, d))
        X[3, 0] = 1.0 if d == 1 else np.nan  # a row of one column that shows nothing would be dropped, and said
        model = PPCA(n_components=1, max_iter=20, tol=1e-2).fit(X)
        for ax in (
            plotting.missingness_map(model, X),
            plotting.reconstruction_grid(model, X),
            plotting.control_chart(model, X)[0],
            plotting.latent_scatter(model, X),
            plotting.scree(model),
        ):
            render(ax.figure)


def test_nothing_is_drawn_of_a_model_that_is_not_fitted(iris):
    for draw in (
        lambda m: plotting.scree(m),
        lambda m: plotting.latent_scatter(m, iris),
        lambda m: plotting.em_trace(m),
        lambda m: plotting.control_chart(m, iris),
        lambda m: plotting.missingness_map(m, iris),
        lambda m: plotting.samples_grid(m),
    ):
        with pytest.raises(NotFittedError):
            draw(PPCA())


def test_a_kernel_mixture_is_drawn_as_any_other(shapes, render):
    model = KernelPPCAMixture(n_clusters=2, n_components=2, kernel=kernels.RBF(4.0), random_state=0).fit(shapes)
    ax = plotting.responsibilities(model, shapes, n_grid=10)
    counts = np.bincount(model.predict(shapes), minlength=2)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [
        f"component {i + 1} ({count})" for i, count in enumerate(counts)
    ]
    render(ax.figure)
    render(plotting.samples_grid(model, n_samples=6, random_state=0).figure)
    render(plotting.em_trace(model).figure)


def test_a_fan_of_several_series_with_dates_has_a_panel_for_each_and_dates_below():
    pd = pytest.importorskip("pandas")
    index = pd.date_range("2020-01-01", periods=60, freq="MS")
    waves = np.sin(np.arange(60) / 2)
    frame = pd.DataFrame({"tea": 10 + waves, "coffee": 3 - waves}, index=index)
    model = RKMForecaster(lags=12, kernel="linear", horizon=6, random_state=0).fit(frame)
    axes = plotting.forecast_fan(model, 6, series="all", n_past=24)
    assert [ax.get_ylabel() for ax in axes] == ["tea", "coffee"]
    written = axes[1].xaxis.get_major_formatter()
    assert [written(x) for x in (-1, 0, 1, 6)] == ["2024-11-01", "2024-12-01", "2025-01-01", "2025-06-01"]
    assert written(0.5) == ""
    assert axes[0].get_legend() is not None
    assert axes[1].get_legend() is None
    with pytest.raises(ValueError, match="series='both'"):
        plotting.forecast_fan(model, 6, series="both")
    one = plotting.forecast_fan(model, 6, series="coffee", n_past=24)
    assert_allclose(one.lines[0].get_ydata(), frame["coffee"][-24:])


def test_a_fan_of_a_panel_has_the_times_of_each_series_below():
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    lengths = {"tea": 60, "coffee": 40}
    rows = [
        (name, time, 5 + np.sin(time.month / 2) + 0.1 * rng.standard_normal())
        for name, length in lengths.items()
        for time in pd.date_range("2020-01-01", periods=60, freq="MS")[60 - length :]
    ]
    table = pd.DataFrame(rows, columns=["shop", "month", "sold"])
    model = RKMForecaster(random_state=0).fit(table, id="shop", time="month", value="sold")
    axes = plotting.forecast_fan(model, 6, series="all", levels=(0.9,))
    names = [ax.get_ylabel() for ax in axes]
    assert sorted(names) == sorted(lengths)
    ahead = model.predict(6).set_index("shop")
    for name, ax in zip(names, axes):
        past, mean = (line.get_ydata() for line in ax.lines[:2])
        assert_allclose(past, table.sold[table.shop == name])
        assert_allclose(mean[1:], ahead["mean"][name])
        written = ax.xaxis.get_major_formatter()
        assert [written(x) for x in (0, 1, 6)] == ["2024-12-01", "2025-01-01", "2025-06-01"]
        assert written(1 - lengths[name]) == str(table.month[table.shop == name].iloc[0])[:10]
    assert_allclose(plotting.forecast_fan(model, 6, series="tea").lines[1].get_ydata()[1:], ahead["mean"]["tea"])
