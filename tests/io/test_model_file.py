"""Model files: exact round trips, and every way in which a file can be wrong or hostile."""

import json
import os
import pickle
import stat
import struct
from pathlib import Path

import joblib
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import gramian
from gramian import ModelFileError, load, save
from gramian.io import model_file
from gramian.io.encoding import decode, encode
from gramian.latent.gaussian import LatentGaussian
from gramian.latent.model import LatentModel
from gramian.latent.subspace import PrimalSubspace
from gramian.solvers.eigh import Eigh
from gramian.solvers.spectrum import Spectrum


@pytest.fixture
def model():
    rng = np.random.default_rng(0)
    values, vectors = np.array([2.0, 1.0]), np.asfortranarray(rng.normal(size=(5, 2)))
    return LatentModel(
        PrimalSubspace(rng.normal(size=5), vectors.T), LatentGaussian(values, 0.1, 5.0), Spectrum(values, vectors, 3.5)
    )


@pytest.fixture
def file(model, tmp_path):
    path = tmp_path / "model.safetensors"
    save(model, path)
    return path


def edited(path, change):
    """The file with its manifest changed by ``change`` and a checksum that is right again, as a stranger would make
    it."""
    import hashlib

    content = path.read_bytes()
    length = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + length])
    manifest = json.loads(header["__metadata__"]["gramian"])
    manifest = change(manifest) or manifest
    manifest["sha256"] = "0" * 64
    header["__metadata__"]["gramian"] = json.dumps(manifest)
    text = json.dumps(header).encode()
    new = struct.pack("<Q", len(text)) + text + content[8 + length :]
    path.write_bytes(new.replace(b"0" * 64, hashlib.sha256(new).hexdigest().encode(), 1))
    return path


# ---------------------------------------------------------------- round trips (IO-11)

VALUES = {
    "float64": np.linspace(0, 1, 7),
    "float32": np.linspace(0, 1, 7, dtype=np.float32),
    "float16": np.linspace(0, 1, 7, dtype=np.float16),
    "int8": np.arange(-3, 3, dtype=np.int8),
    "uint64": np.array([2**64 - 1], dtype=np.uint64),
    "bool": np.array([[True, False]]),
    "big-endian": np.arange(4, dtype=">f8"),
    "unicode": np.array(["a", "größe", "", "𝒳"]),
    "empty unicode": np.array([], dtype="<U3"),
    "unicode matrix": np.array([["a", "bc"], ["def", ""]]),
    "text objects": np.array([["x", "y" * 300], ["\ud800", ""]], dtype=object),
    "zero-dimensional": np.array(3.5),
    "no rows": np.empty((0, 4)),
    "fortran": np.asfortranarray(np.arange(12.0).reshape(3, 4)),
    "nan and infinities": np.array([np.nan, np.inf, -np.inf, -0.0]),
    "scalar float64": np.float64(0.1),
    "scalar float32": np.float32(0.1),
    "scalar int": np.int16(-3),
    "scalar bool": np.bool_(True),
    "scalar str": np.str_("abc"),
    "none": None,
    "true": True,
    "big int": 10**40,
    "float": 0.1 + 0.2,
    "nan": float("nan"),
    "inf": -float("inf"),
    "str": 'quotes " and \\ and \x00 and 漢',
    "list": [1, [2.0, None], "x"],
    "tuple": (1, (2, [3]), ()),
    "dict": {"a": 1, 2: "b", None: [1], ("t", 1): 0.5},
    "slice": slice(1, None, 2),
    "range": range(3, 30, 4),
    "dtype": np.dtype(np.float32),
}


def same(left, right):
    assert type(left) is type(right)
    if isinstance(left, np.ndarray):
        assert left.dtype == right.dtype
        assert left.shape == right.shape
        assert left.flags.f_contiguous == right.flags.f_contiguous
        assert left.tolist() == right.tolist() if left.dtype.kind in "OU" else left.tobytes("A") == right.tobytes("A")
    elif isinstance(left, list | tuple):
        assert len(left) == len(right)
        for a, b in zip(left, right):
            same(a, b)
    elif isinstance(left, dict):
        assert list(left) == list(right)
        for key in left:
            same(left[key], right[key])
    elif isinstance(left, float):
        assert left.hex() == right.hex()
    else:
        assert left == right


@pytest.mark.parametrize("value", VALUES.values(), ids=VALUES)
def test_every_kind_of_value_comes_back_as_it_was(value, tmp_path):
    solver = Eigh()
    solver.extra = value
    save(solver, tmp_path / "m")
    same(load(tmp_path / "m").extra, value)


@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csr_matrix, sparse.csc_array, sparse.csc_matrix])
def test_sparse_matrices_come_back_as_they_were(kind, tmp_path):
    solver = Eigh()
    solver.extra = kind(np.diag([1.0, 0.0, 2.0]))
    save(solver, tmp_path / "m")
    again = load(tmp_path / "m").extra
    assert type(again) is kind
    assert (again.toarray() == solver.extra.toarray()).all()


leaves = st.none() | st.booleans() | st.integers() | st.floats() | st.text()
trees = st.recursive(
    leaves,
    lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.integers(), inner) | st.lists(inner).map(tuple),
)


@given(trees)
@settings(max_examples=100, deadline=None)
def test_any_nest_of_plain_values_comes_back(value):
    tree, tensors = encode(value)
    same(decode(json.loads(json.dumps(tree, allow_nan=False)), tensors), value)


def test_a_model_comes_back_whole_and_shares_what_it_shared(model, file):
    again = load(file)
    assert type(again) is LatentModel
    same(vars(again.subspace), vars(model.subspace))
    assert vars(again.spectrum).keys() == vars(model.spectrum).keys()
    assert again.spectrum.eigenvalues is again.gaussian.eigenvalues  # stored once
    assert again.subspace.components.flags.writeable


def test_the_same_model_gives_the_same_bytes(model, tmp_path):
    save(model, tmp_path / "a")
    save(model, tmp_path / "b")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_the_suffix_does_not_matter_and_paths_may_be_text(model, tmp_path):
    save(model, str(tmp_path / "model.csv"))
    assert type(load(str(tmp_path / "model.csv"))) is LatentModel


def test_objects_that_refer_to_each_other_come_back(tmp_path):
    first, second = Eigh(), Eigh()
    first.other, second.other = second, first
    save(first, tmp_path / "m")
    again = load(tmp_path / "m")
    assert again.other.other is again


# ---------------------------------------------------------------- what cannot be saved


def a_kernel(X, Y):
    return X @ Y.T


@pytest.mark.parametrize(
    "value, words",
    [
        (a_kernel, "callable 'a_kernel', which cannot be saved"),
        (lambda x: x, "cannot be saved"),
        (np.random.default_rng(0), "random generator, which cannot be saved"),
        (np.random.RandomState(0), "random generator, which cannot be saved"),
        (np.array([1, "a"], dtype=object), "cannot be saved"),
        (np.array(["2020-01-01"], dtype="datetime64[D]"), "cannot be saved"),
        (np.zeros(2, dtype=complex), "cannot be saved"),
        (np.ma.masked_array([1.0]), "cannot be saved"),
        (object(), "cannot be saved"),
        ({1, 2}, "cannot be saved"),
        (os.system, "cannot be saved"),
        (sparse.coo_array(np.eye(2)), "tocsr"),
    ],
)
def test_what_is_not_data_is_refused_and_named(value, words, tmp_path):
    solver = Eigh()
    solver.extra = value
    with pytest.raises(ValueError, match=words) as caught:
        save(solver, tmp_path / "m")
    assert "Eigh.extra" in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_a_cycle_of_lists_is_an_error_and_not_a_hang(tmp_path):
    solver = Eigh()
    solver.extra = []
    solver.extra.append(solver.extra)
    with pytest.raises(ValueError, match="nested deeper"):
        save(solver, tmp_path / "m")


def test_subclasses_written_elsewhere_are_not_saved(tmp_path):
    class Mine(Eigh):
        pass

    with pytest.raises(ValueError, match=r"Mine.*cannot be saved"):
        save(Mine(), tmp_path / "m")


# ---------------------------------------------------------------- pickles (IO-01)


class Bomb:
    def __reduce__(self):
        return (os.mkdir, ("exploded",))


@pytest.mark.parametrize("protocol", range(6))
def test_pickles_are_refused_before_parsing(protocol, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "model.safetensors"
    path.write_bytes(pickle.dumps([Bomb(), 1], protocol=protocol))
    with pytest.raises(ModelFileError, match="pickle files are not loaded"):
        load(path)
    assert not (tmp_path / "exploded").exists()


@pytest.mark.parametrize("compress", [0, 3, ("gzip", 3), ("bz2", 3), ("xz", 3), ("lzma", 3)])
def test_joblib_files_are_refused_before_parsing(compress, tmp_path):
    path = tmp_path / "model.joblib"
    joblib.dump({"a": np.arange(10)}, path, compress=compress)
    with pytest.raises(ModelFileError, match="pickle files are not loaded"):
        load(path)


def test_no_pickle_machinery_is_reached_from_load(file, monkeypatch):
    def forbidden(*_, **__):
        raise AssertionError("pickle was used")

    for module, name in ((pickle, "load"), (pickle, "loads"), (pickle, "Unpickler")):
        monkeypatch.setattr(module, name, forbidden)
    load(file)


# ---------------------------------------------------------------- damage (IO-03)


@pytest.mark.parametrize(
    "content, words",
    [
        (b"", "empty"),
        (b"\x00", "not a model file"),
        (b"hello, this is text\n", "not a model file"),
        (b"\x93NUMPY\x01\x00v\x00{'descr'", "NumPy array"),
        (b"PK\x03\x04" + bytes(40), "zip archive"),
        (struct.pack("<Q", 2**63) + b"{}", "header claims"),
        (struct.pack("<Q", 2) + b"{}", "without gramian's manifest"),
        (struct.pack("<Q", 5) + b"{not}", "not JSON"),
        (struct.pack("<Q", 100_000) + b"{" + b'"a":{' * 19_999 + b"}", "header claims|not JSON"),
    ],
)
def test_other_files_are_refused(content, words, tmp_path):
    path = tmp_path / "model.safetensors"
    path.write_bytes(content)
    with pytest.raises(ModelFileError, match=words):
        load(path)


def test_every_truncation_is_noticed(file):
    content = file.read_bytes()
    for length in [*range(40), *range(40, len(content), 97), len(content) - 1]:
        file.write_bytes(content[:length])
        with pytest.raises(ModelFileError):
            load(file)
    file.write_bytes(content + b"\x00")
    with pytest.raises(ModelFileError):
        load(file)


@pytest.mark.parametrize("mask", [0xFF, 0x01, 0x20])
def test_every_flipped_byte_is_noticed(file, mask):
    content = bytearray(file.read_bytes())
    for position in [*range(120), *range(120, len(content), 13), *range(len(content) - 40, len(content))]:
        content[position] ^= mask
        file.write_bytes(content)
        with pytest.raises(ModelFileError):
            load(file)
        content[position] ^= mask
    file.write_bytes(content)
    load(file)


def test_a_flipped_byte_among_the_numbers_is_a_checksum_mismatch(file):
    content = bytearray(file.read_bytes())
    content[-5] ^= 0x10
    file.write_bytes(content)
    with pytest.raises(ModelFileError, match="checksum mismatch"):
        load(file)


# ---------------------------------------------------------------- hostile manifests (IO-07)


@pytest.mark.parametrize(
    "name",
    ["os.system", "builtins.eval", "sklearn.pipeline.Pipeline", "gramian.io.model_file:load", "", 3, None, ["PPCA"]],
)
def test_classes_outside_the_table_are_refused(file, name):
    def change(manifest):
        manifest["model"]["object"] = name

    with pytest.raises(ModelFileError, match="not one of the registered classes"):
        load(edited(file, change))


@pytest.mark.parametrize(
    "state",
    [
        {"__class__": 1},
        {"__reduce__": 1},
        {"a b": 1},
        {"x": {"call": "os.system"}},
        {"x": {"array": "t999"}},
        {"x": {"array": ["t0"]}},
        {"x": {"scalar": "O", "value": ""}},
        {"x": {"scalar": "|O8", "value": "00"}},
        {"x": {"scalar": "<f8", "value": "zz"}},
        {"x": {"scalar": "<f8", "value": ""}},
        {"x": {"dtype": "object"}},
        {"x": {"again": 77}},
        {"x": {"again": []}},
        {"x": {"float": "1e999"}},
        {"x": {"tuple": 3}},
        {"x": {"dict": [[1]]}},
        {"x": {"dict": [[[1], 2]]}},
        {"x": {"slice": [1]}},
        {"x": {"range": ["a", 1, 1]}},
        {"x": {"range": [0, 1, 0]}},
        {"x": {}},
        {"x": {"object": "solvers.Eigh"}},
        {"x": {"object": "solvers.Eigh", "number": 0, "state": {}}},
        {"x": {"object": "solvers.Eigh", "number": 9, "state": [1]}},
        {"x": {"characters": "t0", "width": 3}},
        {"x": {"texts": "t0", "ends": "t0", "shape": [10**12]}},
        {"x": {"sparse": "coo_array", "shape": [1, 1], "parts": []}},
        {"x": {"sparse": "csr_array", "shape": [10**9, 10**9], "parts": [{"array": "t0"}] * 3}},
        [1, 2],
        None,
    ],
)
def test_malformed_state_is_one_kind_of_error(file, state):
    def change(manifest):
        manifest["model"]["state"] = state

    with pytest.raises(ModelFileError):
        load(edited(file, change))


def test_sparse_indices_out_of_range_are_not_handed_to_c_code(tmp_path):
    solver = Eigh()
    solver.extra = sparse.csr_array(np.eye(3))
    solver.extra.indices[1] = 10**6
    save(solver, tmp_path / "m")
    with pytest.raises(ModelFileError):
        load(tmp_path / "m")


def test_a_manifest_nested_without_end_is_refused(file):
    def change(manifest):
        nest = manifest["model"]["state"]["x"] = []
        for _ in range(900):
            nest.append([])
            nest = nest[0]

    with pytest.raises(ModelFileError, match="nested deeper"):
        load(edited(file, change))


def test_json_deeper_than_the_parser_is_refused(file):
    content = file.read_bytes()
    header = b"[" * 200_000
    file.write_bytes(struct.pack("<Q", len(header) + 1) + b"{" + header + content)
    with pytest.raises(ModelFileError):
        load(file)


def test_tensors_that_claim_more_than_the_file_has_are_refused_before_allocation(file):
    content = file.read_bytes()
    length = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + length])
    name = next(key for key in header if key != "__metadata__")
    header[name]["shape"], header[name]["data_offsets"] = [10**12], [0, 8 * 10**12]
    text = json.dumps(header).encode()
    file.write_bytes(struct.pack("<Q", len(text)) + text + content[8 + length :])
    with pytest.raises(ModelFileError, match="tensors claim 8000000000000 bytes"):
        load(file)


# ---------------------------------------------------------------- versions (IO-08)


def test_a_newer_version_says_to_upgrade(file):
    def change(manifest):
        manifest["version"] = model_file.VERSION + 1

    with pytest.raises(ModelFileError, match="Upgrade gramian"):
        load(edited(file, change))


@pytest.mark.parametrize("version", [0, -1, True, "1", None, 1.5])
def test_an_impossible_version_is_refused(file, version):
    def change(manifest):
        manifest["version"] = version

    with pytest.raises(ModelFileError, match="version"):
        load(edited(file, change))


def test_an_older_version_goes_through_its_migration(file, monkeypatch):
    def rename(manifest):
        manifest["model"]["state"]["spectrum"]["state"]["trace"] = 99.0
        return manifest

    monkeypatch.setattr(model_file, "VERSION", 2)
    monkeypatch.setitem(model_file.MIGRATIONS, 1, rename)
    assert load(file).spectrum.trace == 99.0


# ---------------------------------------------------------------- writing (IO-12)


def test_a_failed_write_leaves_the_old_file(model, file, monkeypatch):
    before = file.read_bytes()

    def full(self, data):
        with open(self, "wb") as handle:
            handle.write(data[:10])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(OSError, match="No space left"):
        save(model, file)
    monkeypatch.undo()
    assert file.read_bytes() == before
    assert [path.name for path in file.parent.iterdir()] == [file.name]


def test_an_interrupt_leaves_the_old_file(model, file, monkeypatch):
    before = file.read_bytes()

    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupt)
    with pytest.raises(KeyboardInterrupt):
        save(model, file)
    assert file.read_bytes() == before
    assert [path.name for path in file.parent.iterdir()] == [file.name]


def test_a_folder_that_is_not_there_or_a_folder_itself_is_an_os_error(model, tmp_path):
    with pytest.raises(OSError, match="does not exist"):
        save(model, tmp_path / "no" / "m")
    with pytest.raises(OSError, match="is a folder"):
        save(model, tmp_path)
    with pytest.raises(OSError):
        load(tmp_path)
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "nothing")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_no_permission_is_an_os_error(model, tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(PermissionError):
        save(model, tmp_path / "m")
    tmp_path.chmod(0o700)


def test_the_file_has_the_usual_permissions_and_keeps_its_own(model, tmp_path):
    path = tmp_path / "m"
    save(model, path)
    (tmp_path / "plain").write_text("")
    assert stat.S_IMODE(path.stat().st_mode) == stat.S_IMODE((tmp_path / "plain").stat().st_mode)
    path.chmod(0o600)
    save(model, path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_the_public_names_are_these():
    assert gramian.save is save
    assert gramian.load is load
    assert issubclass(ModelFileError, ValueError)
