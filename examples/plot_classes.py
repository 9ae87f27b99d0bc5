"""
Classes, and how sure one may be
================================

A kernel model per class. Between the moons the probabilities are even.
"""

import matplotlib.pyplot as plt

from gramian import KernelPPCAClassifier, plotting
from gramian.datasets import make_moons

points, moon = make_moons(200, noise=0.2, random_state=0)
model = KernelPPCAClassifier().fit(points, moon)

figure, ax = plt.subplots(layout="constrained")
_ = plotting.responsibilities(model, points, n_grid=60, ax=ax)
