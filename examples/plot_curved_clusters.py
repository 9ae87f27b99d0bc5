"""
Clusters that hold each other
=============================

Two interlocked shapes: no straight line parts them. A mixture in the feature space of a kernel does.
"""

import matplotlib.pyplot as plt

from gramian import KernelPPCAMixture
from gramian.datasets import make_c_shapes

points, _ = make_c_shapes(interlocked=True, random_state=0)
labels = KernelPPCAMixture(n_clusters=2, random_state=0).fit_predict(points)

figure, ax = plt.subplots(layout="constrained")
ax.scatter(*points.T, c=labels, s=12, cmap="coolwarm")
_ = ax.set_title("two clusters")
