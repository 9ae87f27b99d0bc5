"""Every number that decides something for a user and is no parameter: what it is, why it has its value, and what set it.

One frozen record per decision. A number is here because it was tuned on data, or because several places must agree on it.
``docs/policy.md`` is generated from this file; ``experiments/sensitivity.py`` prints how far the outcome of its job moves when a tuned number is
halved or doubled.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any


def number(default: Any, unit: str, why: str, set_by: str = "") -> Any:
    """A field of a policy: its value, its unit, its reason, and the experiment that set it (empty: nothing was tuned)."""
    return field(default=default, metadata={"unit": unit, "why": why, "set_by": set_by})


@dataclass(frozen=True)
class Jury:
    """Which held-out rows vote, and when there are too few to hold any out."""

    fence: float = number(
        3.0,
        "interquartile ranges above the upper quartile",
        "Tukey's outer fence: on Gaussian rows hardly any is beyond it, and wild rows up to a quarter of all cannot move it.",
        "experiments.sensitivity",
    )
    fewest_rows: int = number(
        10, "rows", "Quartiles of fewer rows say nothing: all of them vote, and no regression is judged."
    )
    patience: int = number(
        2,
        "candidates",
        "A search ends when so many in a row were worse than the best by more than the error of the difference.",
    )
    clear: float = number(
        2.0,
        "standard errors of the paired difference",
        "What is asked beside a plain model (a category of many values, a clock, another kind of model) takes part where it helps by more: of forty useless ones, one does.",
        "experiments.never_worse",
    )


@dataclass(frozen=True)
class Look:
    """How much is looked at before something is decided: enough for the decision, little beside the fit."""

    rows: int = number(
        2000,
        "rows of smallest hash",
        "A choice that needs a Gram matrix or an EM per candidate is made on so many distinct rows.",
    )
    few: int = number(
        500,
        "rows of smallest hash",
        "What compares many candidates, each with a fit per fold, does it on so many distinct rows.",
    )
    drawn: int = number(
        10_000,
        "rows of smallest hash",
        "What is kept of rows that are otherwise only summed over: enough for quantiles, ranks and votes, in a few megabytes.",
    )
    fewest: int = number(
        20, "rows or cells", "A distribution, or a choice by hidden cells, needs so many; with fewer nothing is judged."
    )
    hidden: float = number(
        0.1,
        "of the seen cells",
        "What one draw hides from a table with holes: enough to judge, and the model hardly notices.",
    )
    draws: int = number(
        3, "draws of hidden cells", "Where every candidate is a long fit; elsewhere there are as many draws as folds."
    )
    noise: float = number(
        0.5, "standard deviations of a column", "Added to held-out rows by the objective `denoising`, and by `suggest`."
    )
    gram: int = number(
        1000,
        "rows of smallest hash",
        "Between so many rows distances are taken, and Gram matrices are decomposed several times for one choice.",
    )
    parts: int = number(
        3,
        "parts of the rows",
        "One part is held out where a single model of the others is asked once.",
        "experiments.classes_with_holes",
    )
    folds: int = number(
        5, "folds", "Four fifths of the rows are enough to rank candidates; ten folds cost twice as much."
    )


@dataclass(frozen=True)
class Kernels:
    """When a kernel is seen from landmarks where nothing was asked for (``approximation="auto"``), and from how many."""

    exact_rows: int = number(
        2000,
        "rows",
        "Up to here a Gram matrix costs seconds, and nothing is lost; beyond, its cost grows with the square.",
    )
    landmarks: int = number(
        500,
        "rows of smallest hash",
        "Beyond, twice the landmarks cost four times the time and hardly change a prediction.",
    )


@dataclass(frozen=True)
class Suggest:
    """What `suggest` looks at: eight models, in about two seconds."""

    components: int = number(60, "components", "The most that are tried.")


@dataclass(frozen=True)
class Detector:
    """`LatentOutlierDetector` where no estimator is given."""

    refits: int = number(
        3,
        "fits without the rows beyond the fence",
        "Outliers that were fitted hide each other; the fence settles after two or three fits.",
        "experiments.anomalies",
    )
    width: float = number(
        0.5,
        "median distances between rows",
        "The width of the kernel model beside PPCA: odd rows lie between usual ones as often as beyond them.",
        "experiments.anomalies",
    )


@dataclass(frozen=True)
class Defaults:
    """What holds where nobody says otherwise."""

    explained: float = number(
        0.95, "of the variance", "The share that is kept where nothing else says how many components there are."
    )
    noise_floor: float = number(
        1e-3,
        "of the mean variance",
        "The least noise of the detector, and of components at the start: a column that only one row moves must not make every other row infinitely likely.",
        "experiments.sensitivity",
    )
    cover: float = number(
        0.9, "of rows or cells", "The level at which deviations are calibrated: 1.645 of them hold so many."
    )


@dataclass(frozen=True)
class Sizes:
    """Where another way to the same answer pays. None changes an answer beyond its tolerance."""

    tile: int = number(
        512,
        "rows and columns",
        "A tile of doubles stays in the second-level cache from the product to its last use; so do systems of as many numbers.",
    )
    block: int = number(4096, "rows", "Of a table in memory, gone through at a time.")
    batch: int = number(65_536, "rows", "Asked for at a time where a source of batches lets us choose.")
    chunk: int = number(2**24, "bytes", "Features of so many rows at a time are made, summed and forgotten.")
    modest: int = number(
        2**26,
        "bytes",
        "What every process is taken to have: the system is asked about more, and so many tiles are kept.",
    )
    kept: int = number(
        2**29, "bytes", "What is prepared of a table is kept while it takes no more; above, each pass makes it anew."
    )
    stored: int = number(
        6000, "rows", "The largest matrix of explicit features that is stored; beyond, it is applied through the rows."
    )
    factored: int = number(
        3000,
        "rows",
        "Up to here a Gram matrix is factored or decomposed whole to learn one thing of it (its rank, its negative eigenvalues).",
    )
    pairs: int = number(
        1000, "columns", "Up to here the EM of holes starts from every pair of columns; beyond, from some rows."
    )
    single: int = number(
        1_000_000,
        "rows",
        "From here on kernel values are summed in float32 where `tol` allows; below, cuts of the rows agree to 1e-9.",
    )
    products: float = number(
        1e8,
        "multiplications",
        "From here on second moments of float32 rows are multiplied in float32; sums of chunks stay in float64.",
    )
    whole: int = number(
        1500, "rows", "Up to here an open number of components takes the whole spectrum at once; beyond, it grows."
    )
    dense: int = number(
        1200, "rows", "Below, a dense decomposition is as fast as any search.", "benchmarks.sweep_solvers"
    )
    exact: int = number(
        2000, "rows", "Below, `Auto` is exact to rounding whatever the tolerance.", "benchmarks.sweep_solvers"
    )
    first_pairs: int = number(
        32, "eigenpairs", "Asked for first where it is not known how many are needed; then twice as many, and so on."
    )
    share_exact: float = number(
        1 / 45, "of the spectrum", "Up to here a search to rounding beats a dense solver.", "benchmarks.sweep_solvers"
    )
    share: float = number(
        1 / 12, "of the spectrum", "The same for a search to the usual tolerance.", "benchmarks.sweep_solvers"
    )
    bounded: int = number(
        7, "latents", "From so many on a mixture with holes bounds a density before it asks a component of a row."
    )
    one_thread: int = number(2000, "rows", "Up to here a fit has one thread in all: waking others costs more.")
    all_threads: int = number(1000, "rows", "Decompositions from this size on are worth all threads of BLAS.")


@dataclass(frozen=True)
class WayBack:
    """From latents and feature points back to inputs: which pre-image a kernel model takes, and where it draws samples."""

    usual: float = number(
        0.99,
        "share of new rows",
        "A row farther off the model, or off the data, than so many new rows are is not taken for one of them; nor are rows that together lie beyond what chance explains at this level.",
    )
    noises: tuple[float, ...] = number(
        (0.125, 0.25, 0.5, 1.0, 2.0),
        "root mean squared deviations of the columns",
        "Noise that is added to held-out rows: which mix of pre-images denoises best depends on it, from barely seen to twice the signal.",
        "experiments.way_back",
    )
    widths: tuple[float, ...] = number(
        (1.0, 0.7, 0.5, 0.35, 0.2),
        "deviations of the latents of training rows",
        "How far from a training row's latents samples may be drawn: from nearly free to nearly the row itself.",
        "experiments.generation",
    )
    draws: int = number(
        400,
        "draws",
        "Prior latents and samples of each fold's model: shares are known to half a per cent over five folds.",
    )
    novelty: float = number(
        0.8,
        "of a new row's distance to the nearest training row",
        "Samples nearer than that (median) are copies; 0.7 in folds left 0.62 with all rows (breast cancer).",
        "experiments.generation",
    )


@dataclass(frozen=True)
class Filling:
    """Cells that a kernel model fills: a map from latents to rows, and regressions of each column on the others, beside what PPCA says."""

    widths: tuple[float, ...] = number(
        (1.0, 0.5, 0.25),
        "median distances between rows",
        "Widths of the RBF kernels that are tried, the smoothest first.",
        "experiments.kernel_holes",
    )
    penalties: tuple[float, ...] = number(
        (3.0, 1.0, 0.3, 0.1, 0.03),
        "of the kernel's diagonal",
        "Ridge penalties that are tried, the smoothest first.",
        "experiments.kernel_holes",
    )
    work: float = number(
        3e7,
        "rows squared times columns squared",
        "What bounds the kernel values of the regressions of all columns on the others to about a second.",
    )
    noise_work: float = number(
        3e7,
        "rows times columns times components",
        "The noise is chosen on so many rows of smallest hash that the work of a candidate is bounded, whatever the width.",
    )
    bins: int = number(
        5,
        "bins per column",
        "Hidden cells count by how often missing ones of their column have a mean like theirs, in bins: holes may follow what was seen.",
        "experiments.holes_not_at_random",
    )


@dataclass(frozen=True)
class Clusters:
    """`KernelPPCAMixture(n_clusters="auto")`: the most clusters that models of different rows agree on."""

    strength: float = number(
        0.85,
        "share of the pairs in the worst cluster that other rows keep together",
        "Tibshirani and Walther take 0.8 to 0.9 for halves of the rows; draws that share rows agree a little more.",
        "experiments.sensitivity",
    )
    share: float = number(0.7, "of the rows in a draw", "Half of the rows of two thin rings no longer hang together.")
    rows: int = number(
        600,
        "rows of smallest hash",
        "Up to ten numbers of clusters are fitted to five draws each: seconds, not minutes.",
    )
    tol: float = number(1e-3, "relative change of the objective", "The labels of a few steps are those of many.")


@dataclass(frozen=True)
class ClassRules:
    """`KernelPPCAClassifier` and `RKMClassifier`: the rules that are tried, and what held-out rows count between them."""

    widths: tuple[float, ...] = number(
        (0.5, 1.0, 2.0),
        "median distances between rows",
        "Tried first. While the best is the first or the last, the search goes on by factors of 2, then to its neighbours.",
    )
    noises: tuple[float, ...] = number(
        (1e-4, 1e-3, 1e-2, 3e-2, 1e-1), "of the mean k(x, x)", "From nearly the limiting rule to nearly one sphere."
    )
    noise: float = number(
        1e-2, "of the mean k(x, x)", "The usual noise: taken where the rule has none, and where rows cannot tell."
    )
    width: float = number(
        0.6,
        "median distances between rows",
        "The usual width: of rules that held-out rows cannot tell apart the nearest to the usual one is taken.",
        "experiments.sensitivity",
    )
    fractions: tuple[float, ...] = number(
        (0.5, 0.7, 0.8, 0.9, 0.95, 0.98), "of the variance of a class", "Under the limiting rule, which needs a q."
    )
    few: tuple[int, ...] = number(
        (0, 1, 4), "components", "Taken at the usual noise besides all directions above it, where rules are blended."
    )
    row_share: float = number(
        0.05,
        "of a row",
        "What a held-out row counts in the odds between rules: all are scored on the same rows, and the luckiest of many is not the best.",
        "experiments.sensitivity",
    )
    least_share: float = number(1e-3, "of the evidence", "A rule with less is left out of the blend.")


@dataclass(frozen=True)
class Targets:
    """`RKMRegressor` and `RKMClassifier`: kernels that are compared, and what predictions may do."""

    widths: tuple[float, ...] = number(
        (2.0, 1.0, 0.5), "median distances between rows", "Widths that are tried; the widest is the simplest."
    )
    landmarks: int = number(
        200,
        "rows of smallest hash",
        "Stand for the Gaussian kernel while kernels are compared, and bound the columns of a linear one.",
    )
    relevance: float = number(
        0.03, "of the most relevant column", "No column counts less: a slope of zero may be that of a valley."
    )
    improvement: float = number(
        1.01, "times the least held-out error", "The fewest components within it: more are not worth their cost."
    )
    margin: float = number(
        0.1,
        "of the target's range",
        "Predictions stay in the range, widened by this; twice on the side of a long tail, measured from the median.",
        "experiments.sensitivity",
    )
    far: float = number(
        3.0,
        "robust deviations",
        "Inputs beyond count like a logarithm, or no more: one far row must not decide.",
        "experiments.sensitivity",
    )
    heavy: float = number(5.0, "robust deviations", "Tails are heavy where some value lies farther out.")
    unchecked: float = number(
        0.05,
        "of the target's variance",
        "Where nothing can be held out it stays noise: the target is not interpolated.",
    )


@dataclass(frozen=True)
class Mixtures:
    """Components of mixtures: how many there may be, and which start is kept."""

    fewest: int = number(
        6, "distinct rows of a component", "With fewer nothing is held out, and each component is a sphere."
    )
    most: int = number(10, "clusters", "Beyond, a number of clusters that was not asked for says little.")
    clear_gain: float = number(
        0.02,
        "nats per row",
        "Maxima that differ by less differ only in the points where clusters touch: the first start is kept.",
    )
    race: int = number(8, "EM steps", "Each of several starts runs so many; the best goes on alone.")


@dataclass(frozen=True)
class Rates:
    """Levels, slopes and seasons of one series (`gramian.series.recursion`): the grid, and what its members count before they are seen."""

    levels: tuple[float, ...] = number(
        (0.1, 0.2, 0.4, 0.7, 0.9),
        "of each error",
        "From a mean of tens of values to the last value; finer steps say the same.",
    )
    slopes: tuple[tuple[float, float], ...] = number(
        ((0.0, 0.0), (0.0, 1.0), (0.3, 0.9), (0.1, 1.0), (0.3, 1.0)),
        "rate as a share of the level's, and what is left of it a step later",
        "No slope, a drift, one that moves and fades, and two that move and stay.",
    )
    seasons: tuple[float, ...] = number((0.0, 0.2, 0.5), "of each error", "A fixed season, and two that move.")
    drift: float = number(
        0.7,
        "share of the prior",
        "Short series have too few steps to tell a drift from a slope that moves; the drift is the safer of both.",
        "experiments.forecast_competition",
    )
    evidence: float = number(
        40.0,
        "values that a series counts as, at most; one of as many counts as half",
        "Laws change over time and all members are wrong: more values would make one of them sure of itself.",
        "experiments.sensitivity",
    )
    slope_spread: float = number(
        1.0, "one-step noise", "Prior deviation of the first slope.", "experiments.sensitivity"
    )
    season_spread: float = number(
        2.0,
        "one-step noise",
        "Prior deviation of the first season, and of what an input of variance 1 does.",
        "experiments.sensitivity",
    )
    level_spread: float = number(30.0, "one-step noise", "Prior deviation of the first level: next to none.")
    spent: float = number(
        8.0,
        "degrees of freedom",
        "What level, slope, their four rates and their choice cost: the noise of short series is larger than what is left.",
        "experiments.forecast_competition",
    )
    waves: int = number(
        23, "sines and cosines", "The first season is made of so many at most; the rest is learned by its rate."
    )


@dataclass(frozen=True)
class Spread:
    """How far the law of a forecast is believed beside the errors of held-out stretches (`gramian.series.paths.spread_factors`)."""

    belief: float = number(
        6.0,
        "independent held-out stretches",
        "What the model's own width counts as: of one series the errors of a few stretches say little of the next.",
        "experiments.forecast_competition",
    )
    wider: float = number(
        1.1,
        "times the model's own width",
        "Laws change after the last value: futures of series to decide on lay so much farther off.",
        "experiments.forecast_competition",
    )


@dataclass(frozen=True)
class Windows:
    """When a series that nothing was said of is looked at through windows (`gramian.series.choice`)."""

    fewest: int = number(
        50,
        "values",
        "The stretches of shorter series cannot tell what windows are worth.",
        "experiments.forecast_competition",
    )
    kernels_from: int = number(
        130, "values", "Shorter series are looked at with kernels only where lines count more than smoothing."
    )
    odds: float = number(
        3.0,
        "to one",
        "How far the simpler forecast is believed where windows have the same held-out error: they were many, it was one.",
        "experiments.sensitivity",
    )
    power: float = number(
        4.0,
        "of the held-out error",
        "Windows count by its inverse. Independent errors would count by squares; those of one series are not independent.",
        "experiments.sensitivity",
    )


@dataclass(frozen=True)
class MarginRule:
    """Columns of their own law in `LatentImputer`."""

    nodes: int = number(
        32, "nodes of a quadrature", "Means of what is not a line are then right to the third digit, at little work."
    )


@dataclass(frozen=True)
class DrawRule:
    """`LatentImputer.draws`."""

    steps: int = number(
        10,
        "EM steps of each draw of parameters",
        "The weights of a bootstrap move them by a standard error from the fitted ones, not farther.",
        "experiments.coverage_of_pooled",
    )
    rows_per_column: int = number(
        5,
        "rows",
        "With so many per column draws come from a Gaussian of all associations: what is shrunk there is missed by an analysis.",
        "experiments.coverage_of_pooled",
    )
    turns: int = number(
        5,
        "turns of data augmentation between draws",
        "A turn keeps the share of the variance that the holes cause; of a half a thirtieth is left after five.",
        "experiments.coverage_of_pooled",
    )
    first_turns: int = number(
        20, "turns before the first draw", "From the fitted model, which shrinks, to where the data lead."
    )


@dataclass(frozen=True)
class Robustness:
    """Which cells are wild, and `robust="auto"`: when they are not believed."""

    tail: float = number(
        0.8,
        "of the cells on one side of a median",
        "With the half, the quantile that says how heavy a tail is: farther out wild cells may own it, farther in it says little.",
        "experiments.robustness",
    )
    share: float = number(
        0.05,
        "of the cells on one side of a median",
        "So many may be wild before any is found.",
        "experiments.robustness",
    )
    thresholds: tuple[float, ...] = number(
        (6.0, 5.0, 4.0, 3.5),
        "deviations from what the others say of a cell",
        "The farthest cells are found first, and without them the nearer ones; normal cells are beyond the last with a chance of 5e-4.",
        "experiments.robustness",
    )
    noise: float = number(
        0.2,
        "of the variance of a column",
        "Of the model that sees cells: with less, nearly exact columns make each other wild; with more, it sees less.",
        "experiments.robustness",
    )
    spread: float = number(
        0.5,
        "deviations of that model",
        "No column is quieter: the noise that it shows may be that of rounded values.",
        "experiments.robustness",
    )
    rare: float = number(
        3.0,
        "times the thresholds",
        "Where one value fills half of a column: the others are rare by nature, and how far they go cannot be told.",
        "experiments.robustness",
    )
    doubt: float = number(
        2.0,
        "standard errors",
        "A bolder search believes by so much less in heavy tails, and in no rare values; hidden cells say whether it is right.",
        "experiments.robustness",
    )
    rows_per_component: int = number(10, "rows", "Of that model; fewer rows do not tell an axis.")
    components: int = number(20, "components", "Of that model at most: its work grows with their square.")
    gain: float = number(
        0.06,
        "of the absolute error of hidden cells",
        "With it 195 tables to decide on, as they are, lose .2 % in the mean; a wild cell that is believed mostly costs more, heavy tails that are real cost less.",
        "experiments.robustness",
    )


@dataclass(frozen=True)
class Page:
    """How much the report and its pictures show."""

    rows: int = number(10, "rows, classes or arrows", "What is read one by one.")
    columns: int = number(60, "columns", "Listed, drawn and compared with each other; more cannot be read.")
    cells: int = number(25, "cells", "Of a list, and columns of a square of correlations.")
    components: int = number(8, "components", "Shown with their loadings.")
    marks: int = number(
        1200, "marks", "Up to here a picture is made of shapes; beyond, of pixels, and fewer rows are drawn."
    )
    fewest: int = number(5, "values", "Of fewer nothing is said.")


@dataclass(frozen=True)
class Files:
    """What a file may hold before it is refused, and how much of it is looked at first."""

    spare: int = number(
        2**26, "bytes", "What a file may take beyond its own size: a line, texts of a model, what is unpacked unasked."
    )
    unpacked: int = number(
        200, "times its size", "Beyond what is spare nothing may unpack to more; tables pack 3 to 50 times."
    )
    columns: int = number(10_000, "columns", "A wider table is transposed, or no table.")
    cells: int = number(50_000_000, "cells", "More in a sheet are stray cells far below or beside the table.")
    field: int = number(131_072, "characters", "A longer cell is an unclosed quote.")
    members: int = number(1000, "members", "Of an NPZ archive.")
    depth: int = number(64, "levels", "Of the description of a model.")
    values: int = number(1_000_000, "values", "Of the description of a model: what it has much of stands in arrays.")
    header: int = number(2**24, "bytes", "Of the description of a model, which is parsed in memory.")
    looked: int = number(2**20, "bytes", "Looked at to guess how a text table is written.")
    records: int = number(200, "records", "Looked at to guess how a table is laid out.")
    notes: int = number(10, "records", "Fewer below a table may be notes; more are rows that are wrong.")
    batch: int = number(1_000_000, "cells", "Read at a time.")
    text: int = number(64, "bytes", "What a cell of text takes in memory, where that is not known yet.")
    quick: int = number(2**18, "bytes", "Below, the import of pyarrow takes longer than the parsing.")


JURY = Jury()
LOOK = Look()
KERNELS = Kernels()
DETECTOR = Detector()
SUGGEST = Suggest()
DEFAULTS = Defaults()
SIZES = Sizes()
WAY_BACK = WayBack()
FILLING = Filling()
CLUSTERS = Clusters()
CLASSES = ClassRules()
TARGETS = Targets()
MIXTURES = Mixtures()
RATES = Rates()
SPREAD = Spread()
WINDOWS = Windows()
MARGINS = MarginRule()
DRAWS = DrawRule()
ROBUST = Robustness()
PAGE = Page()
FILES = Files()
POLICIES = (
    JURY,
    LOOK,
    KERNELS,
    DETECTOR,
    SUGGEST,
    DEFAULTS,
    WAY_BACK,
    FILLING,
    CLUSTERS,
    CLASSES,
    TARGETS,
    MIXTURES,
    RATES,
    SPREAD,
    WINDOWS,
    MARGINS,
    DRAWS,
    ROBUST,
    SIZES,
    PAGE,
    FILES,
)


def rows_of_page() -> list[tuple[str, str, Any, str, str, str]]:
    """One row per number: record, field, value, unit, reason, experiment."""
    return [
        (
            type(record).__name__,
            entry.name,
            getattr(record, entry.name),
            *(entry.metadata[key] for key in ("unit", "why", "set_by")),
        )
        for record in POLICIES
        for entry in fields(record)
    ]
