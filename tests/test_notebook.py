"""The notebook of the first day, run in a kernel of its own: its pictures, tables and pages are there."""

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

NOTEBOOK = Path(__file__).parents[1] / "examples" / "first_day.ipynb"
NEEDED = ("nbclient", "ipykernel", "pandas", "matplotlib")
ABSENT = [name for name in NEEDED if find_spec(name) is None]
SCRIPT = """
import sys
import nbformat
from jupyter_client.kernelspec import KernelSpec, KernelSpecManager
from nbclient import NotebookClient

class Here(KernelSpecManager):
    def get_kernel_spec(self, name):
        return KernelSpec(argv=[sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"], display_name="here", language="python")

notebook = nbformat.read(sys.argv[1], as_version=4)
client = NotebookClient(notebook, timeout=300)
client.km = client.create_kernel_manager()
client.km.kernel_spec_manager = Here()
client.execute()
nbformat.write(notebook, sys.argv[2])
"""


@pytest.fixture(scope="module")
def outputs(tmp_path_factory):
    """Per code cell, its source and the kinds of what it shows."""
    if ABSENT:
        pytest.skip(f"not installed: {', '.join(ABSENT)}")
    done = tmp_path_factory.mktemp("notebook") / "done.ipynb"
    ran = subprocess.run([sys.executable, "-c", SCRIPT, str(NOTEBOOK), str(done)], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr[-3000:]
    cells = [cell for cell in json.loads(done.read_text())["cells"] if cell["cell_type"] == "code"]
    return {"".join(cell["source"]): cell["outputs"] for cell in cells}


def shown(outputs, word):
    found = next(parts for source, parts in outputs.items() if word in source)
    return [part["data"] for part in found if "data" in part]


@pytest.mark.parametrize("word", ["latent_scatter", "scree", "forecast_fan"])
def test_pictures_appear_once(outputs, word):
    pictures = [data["image/png"] for data in shown(outputs, word) if "image/png" in data]
    assert len(pictures) == 1
    assert len(pictures[0]) > 4000


@pytest.mark.parametrize(
    ("word", "told"),
    [
        ("quality", "error_over_mean"),
        ("odd_rows", "expected"),
        ("report", "<iframe"),
        ("anomaly", "<table>"),
        ("PPCA(", "noise"),
    ],
)
def test_answers_are_shown_as_pages_and_tables(outputs, word, told):
    assert any(told in "".join(data.get("text/html", "")) for data in shown(outputs, word))


def test_nothing_is_said_on_the_side(outputs):
    assert not [part for parts in outputs.values() for part in parts if part["output_type"] == "stream"]


def test_the_notebook_is_kept_without_its_outputs():
    cells = json.loads(NOTEBOOK.read_text())["cells"]
    assert not any(cell.get("outputs") for cell in cells)
