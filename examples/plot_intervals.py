"""
A target with intervals
=======================

The target is one more view of the row. Predictions of rows the model has not seen, and how often their intervals hold the truth.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_diabetes

from gramian import RKMRegressor, plotting

X, y = load_diabetes(return_X_y=True)
model = RKMRegressor(kernel="linear").fit(X[::2], y[::2])

figure, ax = plt.subplots(layout="constrained")
_ = plotting.interval_calibration(model, X[1::2], y[1::2], ax=ax)
