"""Hooks of the documentation site: the API from openapi.json, Python from its docstrings, and llms.txt."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parent.parent
LEAVING = re.compile(r"(!?)\[([^\]]*)\]\((?:\.\./)+[^)]*\)")  # to a file that the site does not have


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are made."""
    openapi = json.loads((ROOT / "docs" / "openapi.json").read_text(encoding="utf-8"))
    for name, lines in (("api", _api(openapi)), ("python", _python())):
        files.append(File.generated(config, f"reference/{name}.md", content="\n".join(lines)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:  # noqa: ARG001 - mkdocs' own
    """Leave the words of a link that leaves the documents, and nothing of the link."""
    return LEAVING.sub(r"\2", markdown)


def on_post_build(config: MkDocsConfig) -> None:
    """Write llms.txt: what there is to read, for models that read it."""
    site = Path(config.site_dir)
    lines = [f"# {config.site_name}", "", f"> {config.site_description}", ""]
    for section in config.nav or []:
        [(title, pages)] = section.items()
        lines.append(f"## {title}\n")
        for page in [section] if isinstance(pages, str) else pages:
            [(name, path)] = page.items()
            lines.append(f"- [{name}]({path.removesuffix('.md')}.html): {_first_sentence(path)}")
        lines.append("")
    (site / "llms.txt").write_text("\n".join(lines), encoding="utf-8")


def _first_sentence(path: str) -> str:
    source = ROOT / "docs" / path
    if not source.exists():
        return "made from the code"
    plain = [part for part in source.read_text(encoding="utf-8").split("\n\n") if re.match(r"[A-Z*]", part)]
    return re.sub(r"[*`]|\[([^\]]*)\]\([^)]*\)", r"\1", " ".join(plain[0].split())).split(". ")[0].rstrip(".") + "."


def _python() -> Iterator[str]:
    """Name everything public; mkdocstrings writes what stands in the docstrings."""
    yield "# Python\n\nThe library, the client and the loops, from their docstrings.\n"
    for title, package in (("The contract", "retrycontract"), ("The client", "client"), ("The loops", "loops")):
        folder = ROOT / "retrycontract" / ("" if package == "retrycontract" else package)
        yield f"## {title}\n"
        for name, module in sorted(_homes(folder / "__init__.py").items()):
            yield f"::: {module}.{name}\n"


def _homes(source: Path) -> dict[str, str]:
    """Read where a package's public names live: in its imports, also those for type checkers alone."""
    tree = ast.parse(source.read_text(encoding="utf-8"))
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    return {
        alias.name: node.module
        for node in imports
        if node.module and node.module.startswith("retrycontract.")
        for alias in node.names
        if not alias.name.startswith("_")
    }


def _api(openapi: dict[str, Any]) -> Iterator[str]:
    yield f"# HTTP API\n\n{openapi['info']['description']} `openapi.json` says the same to programs.\n"
    by_tag: dict[str, list[tuple[str, str, dict[str, Any]]]] = {}
    for path, methods in openapi["paths"].items():
        for method, operation in methods.items():
            by_tag.setdefault((operation.get("tags") or ["other"])[0], []).append((method.upper(), path, operation))
    for tag, operations in by_tag.items():
        yield f"## {tag.capitalize()}\n"
        for method, path, operation in operations:
            yield from _operation(method, path, operation)
    yield "## Schemas\n"
    for name, schema in openapi["components"]["schemas"].items():
        yield f"### {name} {{#{name.lower()}}}\n\n{_plain(schema.get('description', ''))}\n"
        required = set(schema.get("required", ()))
        rows = [(field, _type(what), field in required, what) for field, what in schema.get("properties", {}).items()]
        yield from _table("field", rows)


def _operation(method: str, path: str, operation: dict[str, Any]) -> Iterator[str]:
    yield f"### `{method} {path}`\n\n{operation.get('description', operation.get('summary', ''))}\n"
    yield from _table(
        "parameter",
        [(f"{one['name']} ({one['in']})", _type(one["schema"]), one.get("required", False), one)
         for one in operation.get("parameters", ())],
    )  # fmt: skip
    bodies = operation.get("requestBody", {}).get("content", {})
    if bodies:
        said = [f"{_type(body.get('schema', {}))} as `{kind}`" for kind, body in bodies.items()]
        yield f"Body: {', '.join(said)}.\n"
    yield "| answer | |\n|---|---|"
    for status, answer in operation["responses"].items():
        said = [_type(body["schema"]) for body in answer.get("content", {}).values() if "schema" in body]
        yield f"| {status} | {' '.join([_plain(answer.get('description', '')), *dict.fromkeys(said)])} |"
    yield ""


def _table(title: str, rows: list[tuple[str, str, bool, dict[str, Any]]]) -> Iterator[str]:
    if rows:
        yield f"| {title} | type | |\n|---|---|---|"
        for name, kind, is_required, what in rows:
            needed = "**required.** " if is_required else ""
            yield f"| `{name}` | {kind} | {needed}{_plain(what.get('description', ''))} |"
        yield ""


def _type(schema: dict[str, Any]) -> str:
    """Write a schema in a few words, with a link to one that has a name."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if choices := schema.get("anyOf") or schema.get("oneOf") or schema.get("allOf"):
        return " or ".join(dict.fromkeys(map(_type, choices)))
    if "enum" in schema:
        return ", ".join(f"`{value}`" for value in schema["enum"])
    if "const" in schema:
        return f"`{schema['const']}`"
    if schema.get("type") == "array":
        return f"list of {_type(schema.get('items', {}))}"
    return str(schema.get("type", "anything"))


def _plain(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
