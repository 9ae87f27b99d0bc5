"""Data to try things on: makers that draw them, and loaders for files in the folder named by ``GRAMIAN_DATA``."""

from gramian.datasets.loaders import (
    data_file,
    load_covertype,
    load_etth1,
    load_helix,
    load_ida,
    load_khan,
    load_laser,
    load_mackey_glass,
    load_metabolite,
    load_mfeat,
    load_mnist,
    load_olivetti_faces,
    load_sum_of_sines,
    load_sunspots,
    load_wine,
)
from gramian.datasets.penguins import load_penguins
from gramian.datasets.series import make_mackey_glass, make_sum_of_sines
from gramian.datasets.tables import make_low_rank, make_missing
from gramian.datasets.toy import make_c_shapes, make_curved_clusters, make_ellipsoids, make_moons

__all__ = [
    "data_file",
    "load_covertype",
    "load_etth1",
    "load_helix",
    "load_ida",
    "load_khan",
    "load_laser",
    "load_mackey_glass",
    "load_metabolite",
    "load_mfeat",
    "load_mnist",
    "load_olivetti_faces",
    "load_penguins",
    "load_sum_of_sines",
    "load_sunspots",
    "load_wine",
    "make_c_shapes",
    "make_curved_clusters",
    "make_ellipsoids",
    "make_low_rank",
    "make_mackey_glass",
    "make_missing",
    "make_moons",
    "make_sum_of_sines",
]
