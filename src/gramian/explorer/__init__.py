"""Look inside: a table and its models in the browser or in a notebook."""

from __future__ import annotations

import os
import sys
from typing import Any

from gramian.explorer.session import Limits, Session

__all__ = ["Session", "explore", "session_of"]


def explore(model: Any = None, X: Any = None, *, port: int = 0, open_browser: bool = True) -> Any:
    """Look inside a table or a fitted model: in a notebook as a widget, elsewhere in the browser.

    Drag a point of the map and the decoded row follows; click a row to see why it is odd; empty a cell and it is filled.

    Parameters
    ----------
    model : estimator, TableModel, table or path, optional
        A fitted model. A table or the path of one (or of a model file) may stand here too; then it is fitted in the background.
    X : array, frame, dict of views, or path, optional
        The rows to look at. None and no model: the digits of the demo.
    port : int, default=0
        Of the page outside notebooks; 0: any that is free.
    open_browser : bool, default=True
        Whether the page is opened.

    Returns
    -------
    widget or Server
        In a notebook the widget, which shows itself. In an interactive Python a server in the background, with ``.url`` and
        ``.close()``; in a script the call returns when the server is stopped with Ctrl-C.

    References
    ----------
    docs/explore.md.

    Examples
    --------
    >>> import gramian
    >>> from sklearn.datasets import load_iris
    >>> gramian.explore(gramian.PPCA(2).fit(load_iris().data), load_iris().data)  # doctest: +SKIP
    """
    session = session_of(model, X)
    if _in_notebook():
        from gramian.explorer.widget import widget_of

        return widget_of(session)
    from gramian.explorer.server import serve

    interactive = hasattr(sys, "ps1") or bool(sys.flags.interactive) or "IPython" in sys.modules
    return serve(session, port=port, open_browser=open_browser, block=not interactive)


def session_of(model: Any = None, X: Any = None, limits: Limits | None = None) -> Session:
    """A session that has begun to read and to fit."""
    given = X if X is not None else model
    named = isinstance(given, str | os.PathLike)
    title = os.path.basename(given) if named else "digits" if given is None else type(given).__name__
    session = Session(title, limits)

    def read() -> None:
        from gramian.explorer.opening import open_session  # which imports what the page need not wait for

        open_session(session, model, X)

    session.jobs.add("read", "Reading", read)
    return session


def _in_notebook() -> bool:
    """Whether a kernel runs this code: a terminal has no widgets."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    if shell is not None and hasattr(shell, "kernel"):
        return True
    marimo = sys.modules.get("marimo")
    return bool(marimo is not None and marimo.running_in_notebook())
