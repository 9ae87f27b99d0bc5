"""Model files: exact round trips, and every way in which a file can be wrong or hostile."""

import hashlib
import io
import json
import os
import pickle
import re
import stat
import struct
import tracemalloc
from pathlib import Path

import joblib
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import save as to_bytes
from scipy import sparse

import gramian
from gramian import ModelFileError, load, save
from gramian.io import model_file
from gramian.io.decoder import decode
from gramian.io.encoder import encode
from gramian.io.tensors import places, read
from gramian.solvers.eigh import Eigh


@pytest.fixture(scope="module")
def model():
    return gramian.PPCA(2).fit(np.random.default_rng(0).normal(size=(20, 5)))


@pytest.fixture
def file(model, tmp_path):
    path = tmp_path / "model.safetensors"
    save(model, path)
    return path


def edited(path, change):
    """The file with its manifest changed by ``change`` and a checksum that is right again, as a stranger would make
    it."""
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


def through_a_file(value):
    """Encoded, written as tensors and JSON, and back: any value, where `save` takes whole models only."""
    tree, tensors = encode(value)
    content = to_bytes(tensors)
    length = int.from_bytes(content[:8], "little")
    known = places(json.loads(content[8 : 8 + length]), len(content) - 8 - length)
    file = io.BytesIO(content)
    file.seek(8 + length)
    return decode(json.loads(json.dumps(tree, allow_nan=False)), read(file, known, hashlib.sha256()))


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
def test_every_kind_of_value_comes_back_as_it_was(value):
    same(through_a_file(value), value)


@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csr_matrix, sparse.csc_array, sparse.csc_matrix])
def test_sparse_matrices_come_back_as_they_were(kind):
    again = through_a_file(kind(np.diag([1.0, 0.0, 2.0])))
    assert type(again) is kind
    assert (again.toarray() == np.diag([1.0, 0.0, 2.0])).all()


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
    assert type(again) is gramian.PPCA
    assert vars(again).keys() == vars(model).keys()
    same(vars(again._model.subspace), vars(model._model.subspace))
    assert again._model.spectrum.eigenvalues is again._model.gaussian.eigenvalues  # stored once
    assert again._model.subspace.components.flags.writeable


def test_the_same_model_gives_the_same_bytes(model, tmp_path):
    save(model, tmp_path / "a")
    save(model, tmp_path / "b")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_the_suffix_does_not_matter_and_paths_may_be_text(model, tmp_path):
    save(model, str(tmp_path / "model.csv"))
    assert type(load(str(tmp_path / "model.csv"))) is gramian.PPCA


def test_objects_that_refer_to_each_other_come_back():
    first, second = Eigh(), Eigh()
    again, same_again = through_a_file([first, [second, first]])
    assert same_again[1] is again


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


def test_sparse_indices_out_of_range_are_not_handed_to_c_code():
    matrix = sparse.csr_array(np.eye(3))
    matrix.indices[1] = 10**6
    with pytest.raises(ModelFileError):
        through_a_file(matrix)


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


def rewritten(path, change_text):
    """The file with the text of its header changed and a checksum that is right again."""
    content = path.read_bytes()
    length = int.from_bytes(content[:8], "little")
    text = change_text(content[8 : 8 + length].decode())
    return signed(path, text.encode(), content[8 + length :])


def signed(path, header, data):
    content = struct.pack("<Q", len(header)) + header + data
    found = re.search(rb'sha256[\\": ]*([0-9a-f]{64})', content)
    if found:
        content = content.replace(found[1], b"0" * 64, 1)
        content = content.replace(b"0" * 64, hashlib.sha256(content).hexdigest().encode(), 1)
    path.write_bytes(content)
    return path


@pytest.mark.parametrize(
    "change, words",
    [
        (lambda text: text.replace('"F64"', '"F65"', 1), "unknown dtype"),
        (lambda text: text.replace('"F64"', "64", 1), "unknown dtype"),
        (lambda text: re.sub(r'offsets":\[0,\d+', 'offsets":[0,1e999', text, count=1), "beyond every float"),
        (lambda text: re.sub(r'offsets":\[0,\d+', 'offsets":[0,1e3', text, count=1), "without its place"),
        (lambda text: re.sub(r'offsets":\[0,', 'offsets":[8,', text, count=1), "does not fill its place"),
        (lambda text: re.sub(r'"shape":\[', '"shape":[-1,', text, count=1), "without its place"),
        (lambda text: re.sub(r'"shape":\[', '"shape":[2,', text, count=1), "does not fill its place"),
        (lambda text: re.sub(r'\\"verbose\\": 0', r'\\"verbose\\": NaN', text), "NaN is not a number"),
        (lambda text: re.sub(r'\\"verbose\\": 0', r'\\"verbose\\": 1e999', text), "beyond every float"),
        (lambda text: re.sub(r'\\"verbose\\": 0', r'\\"verbose\\": 0, \\"verbose\\": 0', text), "stands twice"),
        (lambda text: text.replace("{", '{"t0":1,"t0":2,', 1), "stands twice"),
        (lambda text: text.replace("{", '{"\u00e9":1,', 1), "ASCII"),
        (lambda text: re.sub("[0-9a-f]{64}", r"\\\\ud800" + "0" * 63, text, count=1), "checksum is missing"),
        (lambda text: re.sub(r'\\"model\\": ', r'\\"model\\": [], \\"more\\": ', text, count=1), "not a list"),
        (lambda text: re.sub(r'\\"array\\": \\"t0\\"', r'\\"array\\": \\"t0\\", \\"order\\": \\"K\\"', text, count=1), "unknown order"),
    ],
)  # fmt: skip
def test_a_header_that_save_never_writes_is_refused(file, change, words):
    before = file.read_bytes()
    rewritten(file, change)
    assert file.read_bytes() != before
    with pytest.raises(ModelFileError, match=words):
        load(file)


@pytest.mark.parametrize("length", range(9))
def test_a_header_of_a_few_bytes_is_refused(length, tmp_path):
    with pytest.raises(ModelFileError):
        load(signed(tmp_path / "m", b"{}       "[:length], b"{}{}{}{}"))


def test_a_part_of_a_model_is_neither_saved_nor_loaded(model, file):
    with pytest.raises(ValueError, match="not a LatentModel"):
        save(model._model, file)

    def change(manifest):
        manifest["model"] = manifest["model"]["state"]["_model"]

    with pytest.raises(ModelFileError, match="not a LatentModel"):
        load(edited(file, change))


def test_a_pipe_is_refused_without_waiting_for_it(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ModelFileError, match="pipe"):
        load(tmp_path / "pipe")


def with_state(entry, tensors):
    """A file of a solver that holds ``entry`` and the tensors."""
    manifest = {"format": model_file.FORMAT, "sha256": "0" * 64, "version": 1}
    manifest["model"] = {"object": "solvers.Eigh", "number": 0, "state": {"extra": entry}}
    content = to_bytes(tensors, metadata={"gramian": json.dumps(manifest)})
    return content.replace(b"0" * 64, hashlib.sha256(content).hexdigest().encode(), 1)


N = 60_000
BOMBS = {
    "ends that go back": (
        {"texts": "t0", "ends": "t1", "shape": [2 * N]},
        {"t0": np.full(2 * N, 97, np.uint8), "t1": np.tile([0, 2 * N], N)},
    ),
    "ends of another type": (
        {"texts": "t0", "ends": "t1", "shape": [4]},
        {"t0": np.full(4, 97, np.uint8), "t1": np.arange(1.0, 5.0)},
    ),
    "one array in many orders": ([{"array": "t0", "order": f"o{i}", "byteorder": "big"} for i in range(N)], {"t0": np.zeros(N)}),
    "one array in two ways": ([{"array": "t0"}, {"array": "t0", "byteorder": "big"}], {"t0": np.zeros(4)}),
    "indices that are copied": (
        [{"sparse": "csr_array", "shape": [1, N], "parts": [{"array": "t0"}, {"array": "t1"}, {"array": "t2"}]}] * 2_000,
        {"t0": np.zeros(N), "t1": np.arange(N), "t2": np.array([0, N])},
    ),
    "empty lists": ([[]] * 600_000, {"t0": np.zeros(1)}),
    "empty objects": ([{"object": "solvers.Eigh", "number": i, "state": {}} for i in range(1, 70_000)], {"t0": np.zeros(1)}),
}  # fmt: skip


@pytest.mark.parametrize("bomb", BOMBS)
def test_a_small_file_cannot_fill_memory(bomb, tmp_path):
    path = tmp_path / "m"
    path.write_bytes(with_state(*BOMBS[bomb]))
    tracemalloc.start()
    with pytest.raises(ModelFileError):
        load(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < path.stat().st_size + (256 << 20)


def test_a_model_of_ten_thousand_columns_with_long_names_is_within_the_bounds(tmp_path):
    pd = pytest.importorskip("pandas")
    names = [f"a column with a long name, number {i}" for i in range(10_000)]
    model = gramian.PPCA(1).fit(pd.DataFrame(np.random.default_rng(0).normal(size=(4, 10_000)), columns=names))
    save(model, tmp_path / "m")
    assert load(tmp_path / "m").feature_names_in_.tolist() == names


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
        manifest["model"]["state"]["verbose"] = 99
        return manifest

    monkeypatch.setattr(model_file, "VERSION", 2)
    monkeypatch.setitem(model_file.MIGRATIONS, 1, rename)
    assert load(file).verbose == 99


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
