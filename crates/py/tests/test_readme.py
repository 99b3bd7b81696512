"""The examples of the READMEs and the guide run."""

from __future__ import annotations

import contextlib
import io
import re
import unittest
from pathlib import Path

from support import LINES, ROOT, fixture

PAGES = [ROOT / "README.md", ROOT / "docs" / "python.md", ROOT / "crates" / "py" / "README.md"]


def examples(page: Path) -> list[str]:
    """The Python of a page, on a file that is there."""
    blocks = re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    return [
        block.replace("libexample.so", LINES).replace("run.gfx942.co", fixture("run.gfx942.co"))
        for block in blocks
    ]


class Examples(unittest.TestCase):
    def test_they_run(self) -> None:
        for page in PAGES:
            blocks = examples(page)
            self.assertTrue(blocks, page)
            for block in blocks:
                with contextlib.redirect_stdout(io.StringIO()) as output, self.subTest(block):
                    exec(compile(block, str(page), "exec"), {"__name__": "example"})
                    self.assertTrue(output.getvalue())


if __name__ == "__main__":
    unittest.main()
