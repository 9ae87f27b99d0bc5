"""
A table with holes
==================

A fifth of the cells is hidden. The model is fitted to the likelihood of what was seen, and says what belongs in the holes.
Observed cells are grey, missing ones have the colour of what the model puts there.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_wine

from gramian import PPCA, plotting
from gramian.datasets import make_missing

wine = load_wine(as_frame=True)
table = (wine.data - wine.data.mean()) / wine.data.std()
holes = table.mask(make_missing(table.to_numpy(), 0.2, random_state=0) != table)
model = PPCA(n_components=3).fit(holes)

figure, ax = plt.subplots(figsize=(7, 5), layout="constrained")
_ = plotting.missingness_map(model, holes[:60], ax=ax)
