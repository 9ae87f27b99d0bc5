"""TablePreprocessor: the command line's way from a mixed table to numbers, as a scikit-learn transformer."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_array, check_is_fitted

from gramian._arrays import Array
from gramian.single.answers import BaseEstimator, atomic, forget
from gramian.tables.frames import as_table, frame_like, orders_of
from gramian.tables.preprocessing import Preprocessing, Roles

UNKNOWN = ("missing", "error")


class TablePreprocessor(TransformerMixin, BaseEstimator):
    """Brings a table of numbers, categories, dates and texts to the numbers that a model sees, and back.

    Numbers are standardised. A column of K categories becomes K - 1 contrasts, in which all categories are equally far
    apart and no column is a function of the others; ordered categories become ranks. Columns without values, with one
    text only, dates and free text are left out and named in ``left_out_`` and ``carried_``. Missing cells stay missing
    (NaN), for a model that can take them. The command ``gramian`` prepares files in the same way.

    Parameters
    ----------
    standardize : bool, default=True
        Whether features are brought to mean 0 and variance 1.
    drop : sequence of str, default=()
        Columns to leave out.
    ids : sequence of str, default=()
        Columns that name rows: carried along, not modelled.
    unknown : {"missing", "error"}, default="missing"
        What a category is that the fit has not seen.

    Attributes
    ----------
    preprocessing_ : Preprocessing
        The fitted map, as model files keep it.
    feature_names_in_ : ndarray of str
    n_features_in_ : int
    carried_ : list of str
        Columns that are not modelled because they name or describe rows.
    left_out_ : list of str
        Columns that are not modelled because nothing is in them, or as asked.
    notes_ : list of str
        What was decided about columns, in words.

    References
    ----------
    [15] docs/theory.md, section 15: columns of their own law.

    Examples
    --------
    >>> import numpy as np
    >>> from gramian import LatentImputer
    >>> from gramian.io import TablePreprocessor
    >>> table = {"size": [1, 2, None, 7, 8, 9, 1.1, 2.1, None, 7.1, 8.1, 9.1], "kind": ["u", "u", "u", "v", None, "v"] * 2}
    >>> prepare = TablePreprocessor().fit(table)
    >>> prepare.get_feature_names_out().tolist()
    ['size', 'kind=v']
    >>> full = LatentImputer().fit_transform(prepare.transform(table))
    >>> prepare.inverse_transform(full)["kind"].tolist()[:6]
    ['u', 'u', 'u', 'v', 'v', 'v']
    >>> bool(prepare.probabilities(full)["kind"][4, 1] > 0.5)
    True
    """

    preprocessing_: Annotated[Preprocessing, ""]
    feature_names_in_: Annotated[Array, "labels c"]
    n_features_in_: Annotated[int, "=c"]
    carried_: Annotated[list[str], ""]
    left_out_: Annotated[list[str], ""]
    notes_: Annotated[list[str], ""]

    def __init__(self, *, standardize: bool = True, drop: Any = (), ids: Any = (), unknown: str = "missing") -> None:
        self.standardize = standardize
        self.drop = drop
        self.ids = ids
        self.unknown = unknown

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.no_validation = True
        return tags

    @atomic
    def fit(self, X: Any, y: Any = None) -> TablePreprocessor:
        """Look at all rows and settle what every column is.

        Parameters
        ----------
        X : data frame, dict of columns, Table or array-like of shape (n_samples, n_columns)
        y : ignored

        Returns
        -------
        TablePreprocessor

        References
        ----------
        docs/command_line.md.

        Examples
        --------
        >>> from gramian.io import TablePreprocessor
        >>> table = {"size": [1.0, 2.0, None, 4.0], "kind": ["u", "u", "v", "v"]}
        >>> prepare = TablePreprocessor().fit(table)
        >>> prepare.n_features_in_
        2
        """
        if self.unknown not in UNKNOWN:
            raise ValueError(f"unknown={self.unknown!r} must be one of {', '.join(map(repr, UNKNOWN))}.")
        table = as_table(X)
        absent = [name for name in (*self.drop, *self.ids) if name not in table]
        if absent:
            raise ValueError(f"drop and ids name the column {absent[0]!r}, which the table does not have.")
        forget(self)
        roles = Roles(id=tuple(self.ids), drop=tuple(self.drop), orders=orders_of(X))
        made = Preprocessing.fit([table], roles, standardize=self.standardize)
        self.preprocessing_ = made
        self.feature_names_in_ = np.array(table.names, dtype=object)
        self.n_features_in_ = len(table.names)
        self.carried_, self.left_out_, self.notes_ = list(made.ids), list(made.left_out), list(made.notes)
        return self

    def transform(self, X: Any) -> Array:
        """The features of rows.

        Parameters
        ----------
        X : as in fit
            Columns are found by name.

        Returns
        -------
        ndarray of shape (n_samples, n_features_out)
            NaN where a cell is missing.

        References
        ----------
        docs/command_line.md.

        Examples
        --------
        >>> from gramian.io import TablePreprocessor
        >>> table = {"size": [1.0, 2.0, None, 4.0], "kind": ["u", "u", "v", "v"]}
        >>> prepare = TablePreprocessor().fit(table)
        >>> prepare.transform(table).shape
        (4, 2)
        """
        check_is_fitted(self)
        return self.preprocessing_.matrix(as_table(X), unknown=self.unknown)

    def inverse_transform(self, X: Any, like: Any = None) -> Any:
        """The modelled columns that features stand for: numbers in their units, categories by the most probable one.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features_out)
            Complete features, such as a model's ``impute`` gives.
        like : data frame, optional
            The kind of container to return. Default: a dict of columns.

        Returns
        -------
        dict of ndarray, or a container like ``like``

        References
        ----------
        docs/command_line.md.

        Examples
        --------
        >>> from gramian.io import TablePreprocessor
        >>> table = {"size": [1.0, 2.0, None, 4.0], "kind": ["u", "u", "v", "v"]}
        >>> prepare = TablePreprocessor().fit(table)
        >>> import numpy as np
        >>> prepare.inverse_transform(np.zeros((1, 2)))["size"].round(3)
        array([2.333])
        """
        features = self._features(X)
        columns = self.preprocessing_.columns(features)
        return frame_like({} if like is None else like, self.preprocessing_.names, columns)

    def probabilities(self, X: Any) -> dict[str, Array]:
        """The probabilities of categories that features stand for.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features_out)

        Returns
        -------
        dict of ndarray of shape (n_samples, n_categories)
            One per column of categories, in the order of :attr:`categories_`.

        References
        ----------
        docs/command_line.md.

        Examples
        --------
        >>> from gramian.io import TablePreprocessor
        >>> table = {"size": [1.0, 2.0, None, 4.0], "kind": ["u", "u", "v", "v"]}
        >>> prepare = TablePreprocessor().fit(table)
        >>> import numpy as np
        >>> prepare.probabilities(np.zeros((1, 2)))["kind"]
        array([[0.5, 0.5]])
        """
        features = self._features(X)
        return self.preprocessing_.probabilities(features)

    def spread(self, std: Any) -> dict[str, Array]:
        """Standard deviations of features in the units of the columns.

        Parameters
        ----------
        std : array-like of shape (n_samples, n_features_out)

        Returns
        -------
        dict of ndarray of shape (n_samples,)

        References
        ----------
        docs/command_line.md.

        Examples
        --------
        >>> from gramian.io import TablePreprocessor
        >>> table = {"size": [1.0, 2.0, None, 4.0], "kind": ["u", "u", "v", "v"]}
        >>> prepare = TablePreprocessor().fit(table)
        >>> import numpy as np
        >>> prepare.spread(np.ones((1, 2)))["size"].shape
        (1,)
        """
        features = self._features(std)
        return dict(zip(self.preprocessing_.names, self.preprocessing_.spread(features)))

    @property
    def categories_(self) -> dict[str, list[str]]:
        """The values of each column of categories."""
        made = self.preprocessing_
        return {name: list(values) for name, values in zip(made.names, made.categories) if values}

    def _features(self, X: Any) -> Array:
        check_is_fitted(self)
        features = check_array(X, dtype=np.float64)
        if features.shape[1] != len(self.preprocessing_.features):
            raise ValueError(
                f"{features.shape[1]} features, but the table has {len(self.preprocessing_.features)}. Give what "
                "transform gave."
            )
        return np.asarray(features)

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Names of the features: the column, or the column with a value or a number.

        Parameters
        ----------
        input_features : ignored

        Returns
        -------
        ndarray of str

        References
        ----------
        docs/command_line.md.

        Examples
        --------
        >>> from gramian.io import TablePreprocessor
        >>> table = {"size": [1.0, 2.0, None, 4.0], "kind": ["u", "u", "v", "v"]}
        >>> prepare = TablePreprocessor().fit(table)
        >>> prepare.get_feature_names_out().tolist()
        ['size', 'kind=v']
        """
        check_is_fitted(self)
        return np.array(self.preprocessing_.features, dtype=object)
