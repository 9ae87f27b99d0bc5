"""What the answer of `anomaly` shows of itself."""

import numpy as np

from gramian import PPCA


def test_an_anomaly_shows_the_oddest_rows():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 2)) @ rng.standard_normal((2, 4)) + 0.1 * rng.standard_normal((60, 4))
    model = PPCA(2).fit(X)
    X[7, 2] += 9
    found = model.anomaly(X)
    lines = repr(found).splitlines()
    assert lines[0].startswith(f"{int(found.flags.sum())} of 60 rows beyond the 99 % limits")
    assert lines[2].split()[0] == "7"
    assert lines[2].split()[-2:] == ["yes", "2"]
    assert len(lines) == 7
    assert found._repr_html_().count("<tr>") == 6
