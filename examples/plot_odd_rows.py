"""
A sensor that drifts
====================

A plant in the order of time: T² along the subspace, SPE off it, and below the columns that stand out. Column 3 drifts near the end.
"""

import matplotlib.pyplot as plt
import numpy as np

from gramian import PPCA, plotting
from gramian.datasets import make_low_rank

plant = make_low_rank(500, 8, rank=2, random_state=1)
plant[440:, 3] += np.linspace(0.0, 12.0, 60)
model = PPCA(n_components=2).fit(plant[:300])

figure = plt.figure(figsize=(8, 6), layout="constrained")
_ = plotting.control_chart(model, plant[300:], ax=figure)
