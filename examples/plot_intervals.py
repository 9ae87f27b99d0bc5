"""
A target with intervals
=======================

The target is one more view of the row. Predictions of rows that the model has not seen, each with its interval, over the truth.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_diabetes

from gramian import RKMRegressor, plotting

X, y = load_diabetes(return_X_y=True)
model = RKMRegressor(kernel="linear").fit(X[::2], y[::2])

figure, ax = plt.subplots(layout="constrained")
_ = plotting.view_prediction(model, X[1::2], None, y[1::2], ax=ax)
