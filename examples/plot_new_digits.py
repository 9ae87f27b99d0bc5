"""
Digits that were never written
==============================

Rows drawn from a kernel model of 8 x 8 digits. A draw is a point of feature space; the pre-image leads it back to pixels.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits

from gramian import KernelPPCA, plotting
from gramian.kernels import RBF

digits = load_digits().data[:400]
model = KernelPPCA(n_components=30, kernel=RBF(20.0), preimage="smoother", random_state=0).fit(digits)

figure, ax = plt.subplots(figsize=(9, 2.2), layout="constrained")
_ = plotting.samples_grid(model, n_samples=24, n_columns=12, random_state=1, ax=ax)
