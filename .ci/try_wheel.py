"""Try an installed wheel where nothing but the wheel and its dependencies is there: import, fit, save, load, the command.

Run as ``python .ci/try_wheel.py`` with the interpreter of that environment, from any folder but the root of the project.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import numpy as np

import gramian


def main() -> None:
    """Fit one model of each family, keep it, read it back; then the command line, and what an extra is missing for."""
    home = Path(gramian.__file__)
    assert "site-packages" in home.parts, f"{home} is not the wheel"
    assert gramian.__version__ == version("gramian")
    assert (home.parent / "py.typed").exists()
    t = np.arange(60.0)
    X = np.column_stack([np.sin(t), np.cos(t), np.sin(t + 1) + 0.1 * np.cos(7 * t)])
    models = [
        gramian.PPCA(1).fit(X),
        gramian.KernelPPCA(2).fit(X),
        gramian.PPCAMixture(2, 1, random_state=0).fit(X),
        gramian.RKMRegressor().fit(X[:, :2], X[:, 2]),
        gramian.KernelPPCAClassifier().fit(X, X[:, 0] > 0),
    ]
    with tempfile.TemporaryDirectory() as folder:
        for model in models:
            path = Path(folder) / "m"
            gramian.save(model, path)
            method = "predict" if hasattr(model, "predict") else "transform"
            rows = X[:, : model.n_features_in_]
            np.testing.assert_array_equal(
                getattr(gramian.load(path), method)(rows), getattr(model, method)(rows), err_msg=type(model).__name__
            )
            path.unlink()
        table = Path(folder) / "t.csv"
        table.write_text("a,b,c\n" + "\n".join(",".join(f"{v:.6f}" for v in row) for row in X) + "\n", encoding="utf-8")
        command = Path(sys.executable).with_name("gramian")
        for words in (["--version"], ["fit", "t.csv", "-m", "m"], ["score", "m", "t.csv", "-o", "s.csv"]):
            subprocess.run([command, *words], cwd=folder, check=True, capture_output=True)
    extras = [name for name in ("matplotlib", "pyarrow", "dask", "torch") if find_spec(name)]
    print(
        f"gramian {gramian.__version__} from its wheel: {len(models)} models and the command work; extras there: {extras or 'none'}."
    )


if __name__ == "__main__":
    main()
