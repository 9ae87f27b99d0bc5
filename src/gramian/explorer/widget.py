"""The page in a notebook: the same modules and verbs over the messages of a widget."""

from __future__ import annotations

import threading
from contextvars import copy_context
from typing import Any

from gramian.explorer.answers import answer_verb
from gramian.explorer.bundle import style, widget_module
from gramian.explorer.session import Session


def widget_of(session: Session) -> Any:
    """A widget that shows a session."""
    return _widget_class()(session)


def _widget_class() -> Any:
    try:
        import anywidget
        import traitlets
    except ImportError as missing:
        raise ImportError("the widget needs anywidget: pip install 'gramian[notebook]'.") from missing

    class Explorer(anywidget.AnyWidget):
        """Messages are ``{"id", "verb", "input"}``, answers ``{"id", "status", "output"}``."""

        _esm = widget_module()
        _css = style()
        view = traitlets.Unicode("").tag(sync=True)  # the state of the page, as the address holds it in a browser

        def __init__(self, session: Session) -> None:
            super().__init__()
            self.session = session
            self.on_msg(self._heard)

        def _heard(self, _: Any, message: Any, buffers: Any) -> None:
            """Answer in a thread: a drag does not wait for a page of the table. Kernels know by the context whom they answer."""
            here = copy_context()
            threading.Thread(target=here.run, args=(self.answer, message, buffers), daemon=True).start()

        def answer(self, message: Any, buffers: Any = None) -> None:
            """The answer to one message."""
            if not isinstance(message, dict) or not isinstance(message.get("verb"), str):
                return
            status, output = answer_verb(self.session, message["verb"], message.get("input") or {})
            self.send({"id": message.get("id"), "status": status, "output": output})

        def close(self) -> None:
            """End the work in the background too."""
            self.session.close()
            super().close()

    return Explorer
