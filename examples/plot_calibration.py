"""
Do the intervals hold what they promise?
========================================

Cells of rows that the model has not seen are hidden and filled. Of the intervals with nominal level 0.9, about nine in ten hold
the truth.
"""

import matplotlib.pyplot as plt

from gramian import PPCA, plotting
from gramian.datasets import make_low_rank

table = make_low_rank(600, 12, rank=3, random_state=0)
model = PPCA(n_components=3).fit(table[:300])

figure, ax = plt.subplots(layout="constrained")
_ = plotting.interval_calibration(model, table[300:], ax=ax)
