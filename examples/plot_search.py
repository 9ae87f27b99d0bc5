"""
A width and a dimension by search
=================================

Every dot is a trial, scored on rows it has not seen; on the right what the search expects along the width.
"""

import matplotlib.pyplot as plt

from gramian import BayesSearch, KernelPPCA, plotting
from gramian.datasets import make_c_shapes
from gramian.kernels import RBF

points, _ = make_c_shapes(120, random_state=0)
space = {"kernel__length_scale": ("log", 0.5, 50.0), "n_components": (1, 8)}
search = BayesSearch(KernelPPCA(kernel=RBF()), space, n_trials=12, cv=3, random_state=0).fit(points)

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
plotting.search_history(search, ax=left)
_ = plotting.surrogate_slice(search, "kernel__length_scale", ax=right)
