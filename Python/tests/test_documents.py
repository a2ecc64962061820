"""The examples in the documentation run as shown."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PYTHON = Path(__file__).resolve().parent.parent


def shown(page: Path) -> str:
    pattern = r"```python\n((?:import easim\n\n)?def test_survives_the_flicker.*?)```"
    blocks = re.findall(pattern, page.read_text(encoding="utf-8"), re.S)
    assert len(blocks) == 1, page
    return str(blocks[0])


@pytest.mark.parametrize("page", ["Python/README.md", "docs/python.md"])
def test_the_test_on_the_page_runs(page: str, pytester: pytest.Pytester) -> None:
    text = shown(PYTHON.parent / page)
    pytester.makepyfile(text)
    pytester.runpytest_inprocess("-p", "no:cacheprovider").assert_outcomes(passed=1)
