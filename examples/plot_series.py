"""
A series and what comes next
============================

The end of a chaotic series, what is expected, a band for each level, and what came to pass.
"""

import matplotlib.pyplot as plt
import numpy as np

from gramian import RKMForecaster, plotting
from gramian.datasets import make_mackey_glass

series = make_mackey_glass(360) + 0.05 * np.random.default_rng(0).standard_normal(360)
plain = {"season": None, "difference": 0, "transform": None}
model = RKMForecaster(lags=24, kernel="rbf", random_state=0, **plain).fit(series[:320])

figure, ax = plt.subplots(figsize=(8, 4), layout="constrained")
_ = plotting.forecast_fan(model, 40, past=series[:320], actual=series[320:], ax=ax)
