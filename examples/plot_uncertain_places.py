"""
Where a row lies, and how surely
================================

Irises with a tenth of their measurements missing. An ellipse holds each latent with probability 0.9: rows that show less have
wider ones.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_iris

from gramian import PPCA, plotting
from gramian.datasets import make_missing

iris = load_iris()
flowers = make_missing(iris.data, 0.1, random_state=0)
model = PPCA(n_components=2).fit(flowers)

figure, ax = plt.subplots(layout="constrained")
_ = plotting.latent_scatter(model, flowers, iris.target_names[iris.target], ax=ax)
