"""
How many components?
====================

Eigenvalues fall for ever; the likelihood of rows that were not fitted has a top.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_wine

from gramian import PPCA, plotting

wine = load_wine(as_frame=True)
table = (wine.data - wine.data.mean()) / wine.data.std()
model = PPCA(n_components=3).fit(table)

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
plotting.scree(model, table, ax=left)
_ = plotting.heldout_curve(model, table, ax=right)
