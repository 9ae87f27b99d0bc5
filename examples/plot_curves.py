"""
Curves: components of a kernel
==============================

Lines of equal scores over the plane. The components of an RBF kernel follow the two bent shapes, which no straight axis can.
"""

import matplotlib.pyplot as plt

from gramian import KernelPPCA, plotting
from gramian.datasets import make_c_shapes
from gramian.kernels import RBF

points, _ = make_c_shapes(200, random_state=0)
model = KernelPPCA(n_components=3, kernel=RBF(8.0)).fit(points)

figure = plt.figure(figsize=(10, 3.6), layout="constrained")
_ = plotting.kernel_components(model, points, components=(0, 1, 2), ax=figure)
