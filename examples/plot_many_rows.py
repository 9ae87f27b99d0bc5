"""
Too many rows
=============

Rows come in batches and are forgotten at once; what is kept does not grow. The model is the one of all rows together.
"""

import matplotlib.pyplot as plt
import numpy as np

from gramian import PPCA, plotting
from gramian.datasets import make_low_rank

model = PPCA(n_components=5)
for batch in np.split(make_low_rank(20_000, 20, rank=5, random_state=0), 40):
    model.partial_fit(batch)

figure, ax = plt.subplots(layout="constrained")
plotting.scree(model, ax=ax)
_ = ax.set_title("20,000 rows, 500 at a time")
