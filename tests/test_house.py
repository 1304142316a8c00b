"""What keeps the house readable: one meaning for a class name, and templates whose changes can be reviewed."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("retrycontract", "dashboard", "worker")
MOST_CHARACTERS = 140  # of a template's line: a longer one cannot be reviewed in a diff

# The same thing seen at two doors may keep its name; everything else gets a name of its own.
SEVERAL_HOMES = {
    "CallSummary": "what the API sends is what the client gives",
    "DryRun": "the client gives what the use case found",
    "Event": "the client gives what the store keeps",
    "Guidance": "the client gives what the store keeps",
    "LoggedResponse": "the client gives what the store keeps",
    "Outcome": "the library and the client answer with the same fields",
    "RefusedTool": "what the API sends is what the client gives",
    "Tool": "a tool as it is declared, and as it is stored",
    "ToolForm": "the desk and the admin ask for the same",
}
DJANGO_NAMES = {"Command", "Meta"}


def modules() -> list[Path]:
    return [path for package in PACKAGES for path in (ROOT / package).rglob("*.py") if "migrations" not in path.parts]


def test_a_class_name_has_one_meaning() -> None:
    homes = defaultdict(list)
    for path in modules():
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef) and node.name not in DJANGO_NAMES:
                homes[node.name].append(str(path.relative_to(ROOT)))
    several = {name: at for name, at in homes.items() if len(at) > 1}
    unexpected = {name: at for name, at in several.items() if name not in SEVERAL_HOMES}
    assert not unexpected, f"rename all but one, or say in SEVERAL_HOMES why both keep the name: {unexpected}"
    assert set(SEVERAL_HOMES) <= set(several), f"has one home by now: {set(SEVERAL_HOMES) - set(several)}"


def test_no_line_of_a_template_is_too_long_to_be_reviewed() -> None:
    templates = [path for package in PACKAGES for path in (ROOT / package).rglob("*.html")]
    assert templates
    long = [
        f"{path.relative_to(ROOT)}:{number} has {len(line)}"
        for path in templates
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if len(line) > MOST_CHARACTERS
    ]
    assert not long, f"break at {MOST_CHARACTERS} characters: {long}"


def test_every_file_that_a_recipe_names_is_there() -> None:
    recipes = (ROOT / "CONTRIBUTING.md").read_text().partition("## Recipes")[2]
    named = {name for name in re.findall(r"`([\w/.-]+)`", recipes) if "/" in name}
    assert recipes.count("### Add ") == 4
    assert len(named) >= 10
    assert not [name for name in sorted(named) if not (ROOT / name).exists()]
    decisions = (ROOT / "retrycontract/contract/decisions.py").read_text()
    codes = (ROOT / "retrycontract/contract/codes.py").read_text()
    renderings = (ROOT / "retrycontract/contract/feedback/tool_result.py").read_text()
    tables = [("DECISIONS", decisions), ("CATALOGUE", codes), ("RENDERERS", renderings)]
    assert all(f"{table}: dict[" in text and f"`{table}`" in recipes for table, text in tables)
