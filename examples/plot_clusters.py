"""
Clusters with a direction of their own
======================================

Every cluster is a Gaussian with its own subspace and noise. The tint is the probability of each cluster over the plane.
"""

import matplotlib.pyplot as plt

from gramian import PPCAMixture, plotting
from gramian.datasets import make_c_shapes

points, _ = make_c_shapes(200, random_state=0)
model = PPCAMixture(n_clusters=2, n_components=1, n_init=5, random_state=0).fit(points)

figure, ax = plt.subplots(layout="constrained")
_ = plotting.responsibilities(model, points, ax=ax)
