"""The code of docs/add_a_kernel.md runs as printed."""

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "add_a_kernel.md"
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.S)
PRINTED = ["[[3.  1.5]\n [1.5 3.5]]\n", "2.0\n", "True True\n"]


@pytest.mark.parametrize(("block", "printed"), list(zip(BLOCKS, PRINTED, strict=True)))
def test_code_of_the_page_prints(block, printed, capsys):
    exec(compile(block, str(PAGE), "exec"), {"__name__": "__main__"})
    assert capsys.readouterr().out == printed
