"""
Noise off a curve
=================

Points of two moons with noise, and each of them as the kernel model sees it.
"""

import matplotlib.pyplot as plt

from gramian import KernelPPCA
from gramian.datasets import make_moons
from gramian.kernels import RBF

points, moon = make_moons(300, noise=0.15, random_state=0)
model = KernelPPCA(n_components=6, kernel=RBF(0.6), preimage="smoother", random_state=0).fit(points)
clean = model.reconstruct(points)

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), sharex=True, sharey=True, layout="constrained")
left.scatter(*points.T, c=moon, s=10, cmap="coolwarm")
left.set_title("as measured")
right.scatter(*clean.T, c=moon, s=10, cmap="coolwarm")
_ = right.set_title("as the model sees it")
