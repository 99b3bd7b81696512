"""Every JSON document of the command is valid by docs/hsaco.schema.json, and would not be with a key more."""

from __future__ import annotations

import copy
import json
import os
import subprocess
import sys
import tempfile
import unittest
from collections.abc import Iterator
from pathlib import Path
from typing import Any

try:
    import jsonschema
except ImportError:
    jsonschema = None  # type: ignore[assignment]

FIXTURES = Path(os.environ["HSACO_FIXTURES"])
TESTS = FIXTURES.parent
COMMANDS = (TESTS / "robustness" / "json_commands.txt").read_text().splitlines()

FOREIGN = {"content", "descriptor_fields", "value", "unknown", "exact", "silicon", "approximate"}
"""What is below these keys belongs to the input."""


def answers() -> Iterator[tuple[str, Any]]:
    """What each command answers, with the files that it writes as JSON."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder)
        (out / "end.s").write_text("s_endpgm\n")
        (out / "arguments.bin").write_bytes(bytes(16))
        for command in COMMANDS:
            words = command.replace("OUT", folder).split()
            done = subprocess.run(
                [sys.executable, "-m", "hsaco", *words, "--format", "json"],
                capture_output=True,
                cwd=FIXTURES,
            )
            yield command, json.loads(done.stdout)
        for path in sorted(out.rglob("*.json")):
            yield f"extract: {path.name}", json.loads(path.read_text())
        run = "run -k none --grid 1 --workgroup 64 s1.gfx942.co"
        profile, trace = out / "profile.json", out / "trace.json"
        words = [*run.split(), "--profile", str(profile), "--trace", str(trace)]
        subprocess.run(
            [sys.executable, "-m", "hsaco", *words], capture_output=True, cwd=FIXTURES, check=True
        )
        yield "run: profile", json.loads(profile.read_text())
        for line in trace.read_text().splitlines():
            yield "run: trace", json.loads(line)


def objects(value: Any, place: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """All objects whose keys are the schema's, and what leads to each."""
    if isinstance(value, list):
        for item in value:
            yield from objects(item, place)
    elif isinstance(value, dict) and not any(key.startswith(".") for key in value):
        yield place, value
        for key, item in value.items():
            if key not in FOREIGN | {"reads", "writes", "dumps"}:
                yield from objects(item, (*place, key))


@unittest.skipIf(jsonschema is None, "no jsonschema; cargo xtask python runs this again with it")
class Schema(unittest.TestCase):
    schema: dict[str, Any]

    @classmethod
    def setUpClass(cls) -> None:
        cls.schema = json.loads((TESTS.parent / "docs" / "hsaco.schema.json").read_text())
        jsonschema.Draft202012Validator.check_schema(cls.schema)

    def validator(self, verb: str | None = None) -> Any:
        whole = {**self.schema, **({"$ref": f"#/$defs/{verb}", "anyOf": [True]} if verb else {})}
        return jsonschema.Draft202012Validator(whole)

    def test_answers_are_those_of_the_schema_and_no_others(self) -> None:
        count = 0
        for command, answer in answers():
            validator = self.validator(command.split(" ")[0].rstrip(":"))
            with self.subTest(command):
                validator.validate(answer)
                seen = set()
                # One object of a kind will do.
                for place, _ in objects(answer):
                    if place in seen:
                        continue
                    seen.add(place)
                    wrong = copy.deepcopy(answer)
                    found = next(it for where, it in objects(wrong) if where == place)
                    found["new_key"] = None
                    self.assertFalse(validator.is_valid(wrong), f"any key is valid in {place}")
            count += 1
        self.assertGreater(count, len(COMMANDS))

    def test_golden_answers_are_those_of_the_schema(self) -> None:
        validator, count = self.validator(), 0
        for path in sorted((TESTS / "cli").glob("*.stdout")):
            for line in path.read_bytes().splitlines():
                if line.startswith(b'{"schema_version"'):
                    with self.subTest(path.name):
                        validator.validate(json.loads(line))
                    count += 1
        self.assertGreater(count, 70)


if __name__ == "__main__":
    unittest.main()
