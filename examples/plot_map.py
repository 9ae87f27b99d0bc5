"""
Rows and columns in one map
===========================

Wines as points, what was measured as arrows. The squared length of an arrow is the share of its column that the two latents explain.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_wine

from gramian import PPCA, plotting

wine = load_wine(as_frame=True)
table = (wine.data - wine.data.mean()) / wine.data.std()
model = PPCA(n_components=2).fit(table)

figure, ax = plt.subplots(figsize=(7, 5), layout="constrained")
_ = plotting.biplot(model, table, wine.target_names[wine.target], ax=ax)
