"""The page of transcripts shows every sub-command, and is what the script makes."""

import subprocess
import sys
from pathlib import Path

import pytest

from gramian.cli import main

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize("command", main.commands)
def test_every_sub_command_is_on_the_page(command):
    page = (DOCS / "command_line.md").read_text()
    assert f"gramian {command}" in page
    assert "Traceback" not in page


@pytest.mark.slow
def test_the_page_is_up_to_date(data_file):
    data_file("metabolite.npz")
    ran = subprocess.run(
        [sys.executable, str(DOCS / "make_transcripts.py"), "--check"], capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
