"""
What several sources have in common
===================================

Three sources share two factors, and two of them have one of their own. What mixes the colours is what they share.
"""

import matplotlib.pyplot as plt
import numpy as np

from gramian import MultiViewRKM, plotting

rng = np.random.default_rng(0)
shared, own = rng.standard_normal((300, 2)), rng.standard_normal((300, 2))
views = {
    "spectra": shared @ rng.standard_normal((2, 8)) + own[:, :1] @ rng.standard_normal((1, 8)),
    "sensors": shared @ rng.standard_normal((2, 5)) + own[:, 1:] @ rng.standard_normal((1, 5)),
    "quality": shared @ rng.standard_normal((2, 2)),
}
views = {name: view + 0.4 * rng.standard_normal(view.shape) for name, view in views.items()}
model = MultiViewRKM(4, noise_variance="per-view").fit(views)

figure, ax = plt.subplots(layout="constrained")
_ = plotting.view_contributions(model, ax=ax)
