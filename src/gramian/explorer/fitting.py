"""The work of a session: a first look within a second, then the whole, then what takes longer. The library decides, this calls it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from gramian._arrays import Array
from gramian._content import content_folds, content_sample
from gramian.explorer.data import Data
from gramian.explorer.session import Clusters, Fitted, Session
from gramian.policy import KERNELS, LOOK


def start(session: Session) -> None:
    """Fit what panels need, in the order in which people look."""
    session.jobs.add("fit", "A first look", lambda: _first_look(session), instead_of_all=True)


def again(session: Session, **asked: Any) -> None:
    """Fit anew with what the user chose: q, a kernel, a number of clusters. None: whatever held-out data prefer."""
    known = {name: value for name, value in {**session.options, **asked}.items() if value is not None}
    session.options = known
    if set(asked) == {"clusters"}:
        session.jobs.add("clusters", "Clusters", lambda: _clusters(session, known))
        return
    session.jobs.add("fit", "Fitting", lambda: _choice(session, known), instead_of_all=True)


def _first_look(session: Session) -> None:
    """A map at once, along two axes; then as many as held-out cells of some rows prefer, then of all."""
    data = session.need_data()
    if data.X.shape[1] < 2:  # one column has no map
        session.changed(drawn=True)
        return
    inner = getattr(session.given, "estimator_", session.given)
    name = type(inner).__name__
    if name == "PPCA" and inner.n_components_ > 0:
        session.publish(fitted_of(data, inner, words="The model that was given."))
    else:
        from gramian import PPCA

        rows = content_sample(data.X, LOOK.few)
        first = PPCA(min(2, rows.shape[1] - 1, len(rows) - 1), random_state=0).fit(rows)
        session.publish(fitted_of(data, first, words="A first look: how many axes there are is being found out."))
        if name == "KernelPPCA":
            assert session.fitted is not None
            session.publish(with_map(session.fitted, inner, "kernel", "The model that was given."))
        session.jobs.add("axes", "How many axes", lambda: _axes(session, LOOK.few))
    if name in ("PPCAMixture", "KernelPPCAMixture"):
        labels = np.asarray(inner.predict(data.X))
        session.amend(clusters=Clusters(inner, labels, getattr(inner, "selection_", None)))
    if len(data.X) > LOOK.few and session.jobs.has("axes"):
        session.jobs.add("whole", "All rows", lambda: _axes(session, len(data.X)))
    _afterwards(session)


def _axes(session: Session, most: int) -> None:
    """The model of all rows, with as many axes as held-out cells of at most so many prefer."""
    from gramian import PPCA

    data, before = session.need()
    rows, edits = content_sample(data.X, most), session.edited_cells
    linear = PPCA(random_state=0).fit(rows)
    selection, words = getattr(linear, "selection_", None), ""
    if len(rows) < len(data.X):
        linear = PPCA(linear.n_components_, random_state=0).fit(data.X)
        words = f"How many axes there are is said by {len(rows)} of the rows so far."
    found = _keeping(before, fitted_of(data, linear, words=words, selection=selection))
    session.fitted_edits = edits
    session.publish(with_map(found, before.model, "kernel", before.words) if before.kind == "kernel" else found)


def _keeping(before: Fitted, now: Fitted) -> Fitted:
    """What was found about the rows before, as far as it does not depend on q."""
    return replace(now, clusters=before.clusters, selection=now.selection or before.selection)


def _choice(session: Session, options: dict[str, Any]) -> None:
    from gramian import PPCA, KernelPPCA

    data, before = session.need()
    q, n = options.get("q"), len(data.X)
    by_kernel = "kernel" in options
    linear, edits = before.linear, session.edited_cells
    wanted = int(linear.n_components_) if by_kernel else q
    if wanted is None or int(linear.n_components_) != wanted or edits != session.fitted_edits or session.stale:
        linear = PPCA("auto" if wanted is None else wanted, random_state=0).fit(data.X)
    chosen = getattr(linear, "selection_", None)
    found = _keeping(before, fitted_of(data, linear, selection=chosen, options=options))
    if by_kernel:
        found = _calibrate(data, found)  # the kernel sees the cells that the page shows
        more: dict[str, Any] = (
            {"approximation": "nystroem", "n_landmarks": KERNELS.landmarks} if n > KERNELS.exact_rows else {}
        )
        kernel = kernel_of(options)
        model = KernelPPCA("auto" if q is None else int(q), kernel=kernel, random_state=0, **more).fit(found.full)
        found = with_map(found, model, "kernel", "")
    session.fitted_edits, session.stale = edits, False
    session.publish(found)
    _afterwards(session)


def kernel_of(options: dict[str, Any]) -> Any:
    """The kernel that was chosen in the page."""
    from gramian.kernels import as_kernel

    kernel = as_kernel(options["kernel"])
    width = options.get("length_scale")
    if width is not None and "length_scale" in kernel.get_params():
        kernel.set_params(length_scale=width)
    return kernel


def fitted_of(
    data: Data, linear: Any, *, words: str = "", selection: Any = None, options: dict[str, Any] | None = None
) -> Fitted:
    """What a linear model says of all rows."""
    X = data.X
    full, std = (X.copy(), np.zeros_like(X))
    if np.isnan(X).any():
        full, std = (np.array(part) for part in linear.impute(X, return_std=True))
    try:
        odd = linear.anomaly(X)
    except ValueError:  # no noise: nothing is off the model
        odd = None
    latents = np.asarray(linear.transform(X))
    chosen = selection if selection is not None else getattr(linear, "selection_", None)
    found = Fitted("ppca", linear, linear, linear, latents, full, std, odd, words, chosen, options=options or {})
    return found if odd is None else replace(found, oddness=found.oddness_of(odd, X))


def with_map(fitted: Fitted, model: Any, kind: str, words: str) -> Fitted:
    """The same, with another model for the map and the samples."""
    latents = np.asarray(model.transform(fitted.full))
    chosen = getattr(model, "selection_", None)
    found = replace(fitted, kind=kind, model=model, latents=latents, selection=chosen, words=words)
    model.inverse_transform(latents[:1], return_std=True)  # what it holds out is held out now, not at the first drag
    return found


def _afterwards(session: Session) -> None:
    data, fitted = session.need()
    if np.isnan(data.X).any():
        session.jobs.add("fill", "Intervals from hidden cells", lambda: _fill(session))
    if fitted.odd is not None:
        session.jobs.add("limits", "Limits from held-out rows", lambda: _limits(session))
    mixed = type(getattr(session.given, "estimator_", session.given)).__name__.endswith("Mixture")
    if "clusters" in session.panels and not mixed:  # again where there are some: cells may be filled otherwise now
        session.jobs.add("clusters", "Clusters", lambda: _clusters(session, session.options))


def _fill(session: Session) -> None:
    data, fitted = session.need()
    session.publish(_calibrate(data, fitted))


def _calibrate(data: Data, fitted: Fitted) -> Fitted:
    """Holes filled with intervals that hidden cells have tried."""
    from gramian import PPCA, LatentImputer

    if fitted.filler is not fitted.linear or not np.isnan(data.X).any():
        return fitted
    q = int(fitted.linear.n_components_)
    filler = LatentImputer(PPCA(q, random_state=0), standardize=False).fit(content_sample(data.X, LOOK.rows))
    full, std = (np.array(part) for part in filler.impute(data.X, return_std=True))
    found = replace(fitted, filler=filler, full=full, std=std)
    return replace(found, latents=np.asarray(found.model.transform(full))) if found.kind == "kernel" else found


def _limits(session: Session) -> None:
    from gramian import LatentOutlierDetector

    data, _ = session.need()
    try:
        detector = LatentOutlierDetector(standardize=False).fit(content_sample(data.X, LOOK.rows))
    except ValueError:  # too few rows to hold any out
        return
    session.amend(detector=detector, oddness=-np.asarray(detector.score_samples(data.X)))


def _clusters(session: Session, options: dict[str, Any]) -> None:
    from gramian import PPCAMixture

    _, fitted = session.need()
    count = options.get("clusters")
    rows = content_sample(fitted.full, LOOK.few)
    selection = fitted.clusters.selection if fitted.clusters is not None else None
    if count is None:
        mixture = PPCAMixture(n_clusters="auto", random_state=0).fit(rows)
        selection = mixture.selection_
    else:
        mixture = PPCAMixture(n_clusters=int(count), random_state=0).fit(rows)
    labels = np.asarray(mixture.predict(fitted.full))
    order = np.argsort(-np.bincount(labels, minlength=len(mixture.weights_)), kind="stable")
    place = np.argsort(order)  # the largest first
    current = session.need()[1]
    session.amend(clusters=Clusters(mixture, place[labels], selection), options={**current.options, **options})


# ---------------------------------------------------------------- on demand


def views(session: Session) -> None:
    """Fit the views, and see how well each is told by the others on rows that were held out."""
    session.jobs.add("views", "Views", lambda: _views(session))


def _views(session: Session) -> None:
    from gramian import MultiViewRKM

    data, fitted = session.need()
    X, columns = fitted.full, view_features(data)
    folds, fold = content_folds(X, LOOK.folds)
    skill: dict[str, float | None] = {}
    if folds and (fold == 0).any():
        kept = MultiViewRKM(views=columns, random_state=0).fit(X[fold != 0])
        for view, members in columns.items():
            truth, guess = X[fold == 0][:, members], kept.predict_view(others(X[fold == 0], columns, view), view)
            spread = ((truth - X[fold != 0][:, members].mean(axis=0)) ** 2).sum()
            skill[view] = float(1 - ((truth - guess) ** 2).sum() / spread) if spread > 0 else None
    given = getattr(session.given, "estimator_", session.given)
    known = type(given).__name__ == "MultiViewRKM" and list(given.view_names_) == list(columns)
    model = given if known else MultiViewRKM(views=columns, random_state=0).fit(X)
    session.views = {"model": model, "columns": columns, "skill": skill}
    session.changed(drawn=True)


def view_features(data: Data) -> dict[str, list[int]]:
    """The features of every view."""
    owner = [data.prepare.names[j] for j in data.owner]
    return {view: [k for k, name in enumerate(owner) if name in set(members)] for view, members in data.views.items()}


def others(X: Array, columns: dict[str, list[int]], view: str) -> dict[str, Array]:
    """All views but one."""
    return {name: X[:, members] for name, members in columns.items() if name != view}


def series(session: Session, column: str) -> None:
    """Fit a forecaster to a column, and one that has not seen its end."""
    session.jobs.add(f"series {column}", f"Forecast of {column[:40]}", lambda: _series(session, column))


def _series(session: Session, column: str) -> None:
    from gramian import RKMForecaster

    data = session.need_data()
    values = np.asarray(data.table[column], dtype=float)
    clock = data.clock
    assert clock is not None
    hidden = max(1, min(len(values) // 5, 2 * max(clock.seasons, default=12)))
    model, past = RKMForecaster(random_state=0), RKMForecaster(random_state=0)
    for forecaster, part in ((model, values), (past, values[:-hidden])):
        forecaster._usual_seasons = clock.seasons  # as `gramian forecast` does
        forecaster.fit(part)
    session.series[column] = {"model": model, "past": past, "hidden": hidden}
    session.changed(drawn=True)


def tune(session: Session, trials: int) -> None:
    """Search the parameters of the model on the map; the best takes its place."""
    session.jobs.add("tune", f"Tuning, {trials} trials", lambda: _tune(session, trials))


def _tune(session: Session, trials: int) -> None:
    from gramian import PPCA, BayesSearch, KernelPPCA

    _, fitted = session.need()
    rows = content_sample(fitted.full, LOOK.few)
    if fitted.kind == "kernel":
        search = BayesSearch(KernelPPCA(random_state=0), n_trials=trials, cv=3, random_state=0).fit(rows)
        found = search.best_estimator_
        width = getattr(found.kernel_, "length_scale", None)
        width = float(width) if isinstance(width, float | int) else None
        name = type(found.kernel_).__name__.lower()
        options = {**session.options, "kernel": name, "length_scale": width, "q": int(found.n_components_)}
    else:
        most = min(20, rows.shape[1] - 1)
        space = {"n_components": (1, max(2, most))}
        search = BayesSearch(PPCA(random_state=0), space, n_trials=trials, cv=3, random_state=0).fit(rows)
        options = {**session.options, "q": int(search.best_params_["n_components"])}
    session.remember("tuning", session.keeper())
    session.options = {name: value for name, value in options.items() if value is not None}
    _choice(session, session.options)
    score = float(search.best_score_)
    session.note = f"The best of {len(search.trials_['score'])} trials scores {score:.4g} on rows that were held out."
    session.changed()
