"""Pictures: one function each. It takes a fitted model and an optional ``ax``, draws there, returns the axes and shows nothing.

Without ``ax`` the picture gets a figure of its own, ``ax.figure``. A notebook shows it, and so does ``plt.show()`` where
``matplotlib.pyplot`` was imported before; ``ax.figure.savefig("picture.png")`` saves it. matplotlib is imported when a picture is drawn
(``pip install "gramian[plot]"``). Pictures of several panels take an array of axes, a Figure, a SubFigure or one Axes whose place is
divided, and return the array of their axes.
"""

from gramian.plotting.anomaly import anomaly_histogram, control_chart
from gramian.plotting.drift import drift_chart
from gramian.plotting.forecast import forecast_fan
from gramian.plotting.images import latent_traversal, reconstruction_grid, samples_grid
from gramian.plotting.kernel import kernel_components
from gramian.plotting.latent import biplot, latent_scatter
from gramian.plotting.missing import interval_calibration, missingness_map
from gramian.plotting.mixture import responsibilities
from gramian.plotting.selection import selection
from gramian.plotting.spectrum import cumulative_variance, heldout_curve, scree
from gramian.plotting.training import em_trace
from gramian.plotting.tuning import parameter_importance, search_history, surrogate_slice
from gramian.plotting.views import view_contributions, view_prediction

__all__ = [
    "anomaly_histogram",
    "biplot",
    "control_chart",
    "cumulative_variance",
    "drift_chart",
    "em_trace",
    "forecast_fan",
    "heldout_curve",
    "interval_calibration",
    "kernel_components",
    "latent_scatter",
    "latent_traversal",
    "missingness_map",
    "parameter_importance",
    "reconstruction_grid",
    "responsibilities",
    "samples_grid",
    "scree",
    "search_history",
    "selection",
    "surrogate_slice",
    "view_contributions",
    "view_prediction",
]
