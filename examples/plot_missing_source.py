"""
A source that is missing
========================

The lower half of a digit is a source, the upper half another. What the lower half says of a pixel of the upper one, with intervals.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits

from gramian import MultiViewRKM, plotting

digits = load_digits().data[:500]
halves = {"upper": digits[:, :32], "lower": digits[:, 32:]}
train = {name: half[:350] for name, half in halves.items()}
test = {name: half[350:] for name, half in halves.items()}
model = MultiViewRKM(n_components=10, noise_variance="per-view").fit(train)

figure, ax = plt.subplots(layout="constrained")
_ = plotting.view_prediction(model, {"lower": test["lower"]}, "upper", test["upper"], column=26, ax=ax)
