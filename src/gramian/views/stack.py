"""Views side by side in one table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from gramian._arrays import Array
from gramian._checks import check_same_rows, check_table


def stack_views(views: Any) -> tuple[Array, dict[Any, slice]]:
    """One table of all views side by side, and the columns of each: what ``MultiViewRKM(views=...)`` takes [8].

    Parameters
    ----------
    views : dict of name -> array, or list of arrays
        2-D arrays with the same rows; rows where a view is missing are NaN.

    Returns
    -------
    table : ndarray of shape (n_samples, total number of columns)
    views : dict of name -> slice
        Views of a list are called "view0", "view1", ...

    Examples
    --------
    >>> import numpy as np
    >>> from gramian import stack_views
    >>> table, views = stack_views({"x": np.zeros((4, 3)), "y": np.ones((4, 1))})
    >>> table.shape, views
    ((4, 4), {'x': slice(0, 3, None), 'y': slice(3, 4, None)})
    """
    if not isinstance(views, Mapping | list | tuple) or not len(views):
        raise ValueError(f"stack_views needs a dict or a list of 2-D arrays, got {type(views).__name__} {views!r:.60}.")
    named = dict(views) if isinstance(views, Mapping) else {f"view{i}": view for i, view in enumerate(views)}
    arrays, columns, stop = [], {}, 0
    for name, view in named.items():
        if view is None:
            raise ValueError(
                f"View {name!r} is None: its number of columns is not known. Give NaN rows, or leave it out."
            )
        array = check_table(None, view, reset=False, missing=True, name=f"view {name!r}")
        start, stop = stop, stop + array.shape[1]
        arrays.append(array)
        columns[name] = slice(start, stop)
    check_same_rows(dict(zip(named, arrays)))
    return np.hstack(arrays), columns
