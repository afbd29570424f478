"""What the site adds to docs/: pages of the project, notebooks, and files that are linked.

mkdocs calls these functions (`hooks` of mkdocs.yml). Pages link to files of the repository; each
link is rewritten to the page of the site that shows the file.
"""

from __future__ import annotations

import os
import re
from pathlib import Path, PurePosixPath
from typing import Any

import nbformat
from mkdocs.structure.files import File, Files
from nbconvert import MarkdownExporter

ROOT = Path(__file__).parents[1]
PROJECT = {
    "README.md": "index.md",
    "CHANGELOG.md": "project/changelog.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "SECURITY.md": "project/security.md",
    "LICENSE": "project/license.md",
}
"""Files of the root that are pages of the site."""
ORIGINS = {page: name for name, page in PROJECT.items()}
AS_IT_IS = {".md", ".png", ".svg"}
LANGUAGES = {
    ".py": "python",
    ".ts": "typescript",
    ".toml": "toml",
    ".json": "json",
    ".yaml": "yaml",
    ".sql": "sql",
    ".conf": "nginx",
    ".service": "ini",
}
PUBLISHED = ("journal", "booktitle", "publisher", "institution", "note")
LINK = re.compile(r"(?<=\]\()(?!https?:|#|mailto:)([^)\s#]+)(?=[)#])")


def on_files(files: Files, config: Any) -> Files:
    """Add the pages that are made from files outside docs/, and from notebooks."""
    for name, page in PROJECT.items():
        text = (ROOT / name).read_text("utf-8")
        if name == "LICENSE":
            text = f"# Licence\n\n```text\n{text.strip()}\n```\n"
        files.append(File.generated(config, page, content=text))
    files.append(File.generated(config, "project/references.md", content=_references()))
    for notebook in sorted((ROOT / "docs" / "notebooks").glob("*.ipynb")):
        for uri, content in _notebook_pages(notebook).items():
            files.append(File.generated(config, uri, content=content))
    for path in sorted(_linked_files(files)):
        files.append(File.generated(config, _uri(path), content=_listing(ROOT / path)))
    return files


def on_page_markdown(markdown: str, page: Any, **_: object) -> str:
    """Let every link of a page lead to a page of the site."""
    here = page.file.src_uri
    origin = PurePosixPath(ORIGINS.get(here, f"docs/{here}")).parent
    if here.startswith("files/"):
        return markdown
    shown: str = LINK.sub(lambda link: _relative(_resolve(origin, link[1]), here), markdown)
    if here.startswith("notebooks/"):
        name = PurePosixPath(here).with_suffix(".ipynb").name
        shown += f"\n\n---\n\nThis page is a notebook: [download it]({name}) and run it.\n"
    return shown


def on_page_content(html: str, **_: object) -> str:
    """Show a bar in a cell of a table as one: GitHub wants it escaped, in code too."""
    return re.sub(r"<td.*?</td>", lambda cell: cell[0].replace(r"\|", "|"), html, flags=re.DOTALL)


def _references() -> str:
    """Return what is cited as [Vernade2020], from the bibliography."""
    text = (ROOT / "docs" / "references.bib").read_text("utf-8")
    lines = ["# References", "", "What is cited in brackets, such as [Vernade2020].", ""]
    for key, entry in sorted(re.findall(r"@\w+\{(\w+),(.*?)\n\}", text, flags=re.DOTALL)):
        field = dict(re.findall(r"(\w+) = \{(.*?)\}(?=,|\s*$)", entry, flags=re.DOTALL))
        names = [" ".join(reversed(one.split(", "))) for one in field["author"].split(" and ")]
        where = next((field[one] for one in PUBLISHED if one in field), "")
        said = [", ".join(names), f"*{field['title']}*", where, field.get("year", "")]
        lines += [f"- **{key}** {'. '.join(filter(None, said))}."]
    return "\n".join(lines) + "\n"


def _notebook_pages(path: Path) -> dict[str, str | bytes]:
    """Return a notebook as Markdown, and its pictures."""
    exporter = MarkdownExporter()
    text, found = exporter.from_notebook_node(
        nbformat.read(path, as_version=4), resources={"unique_key": path.stem}
    )
    folder = "notebooks"
    pages: dict[str, str | bytes] = {f"{folder}/{path.stem}.md": text}
    return pages | {f"{folder}/{name}": content for name, content in found["outputs"].items()}


def _linked_files(files: Files) -> set[str]:
    """Return the files and folders of the repository that pages link to and that are no pages."""
    found: set[str] = set()
    for file in files.documentation_pages():
        origin = PurePosixPath(ORIGINS.get(file.src_uri, f"docs/{file.src_uri}")).parent
        for link in LINK.findall(file.content_string):
            path = _resolve(origin, link)
            if not _is_page(path) and (ROOT / path).exists():
                found.add(path)
                if (ROOT / path).is_dir():
                    inside = (ROOT / path).rglob("*")
                    found |= {one.relative_to(ROOT).as_posix() for one in inside if one.is_file()}
    return found


def _listing(path: Path) -> str:
    """Return a page that shows a file, or what is in a folder."""
    title = f"# {path.relative_to(ROOT).as_posix()}\n\n"
    if path.is_dir():
        here = _uri(path.relative_to(ROOT).as_posix())
        inside = sorted(one for one in path.rglob("*") if one.is_file())
        uris = [one.relative_to(ROOT).as_posix() for one in inside]
        return title + "\n".join(f"- [{uri}]({_relative(uri, here)})" for uri in uris) + "\n"
    language = LANGUAGES.get(path.suffix, "text")
    return f"{title}````{language}\n{path.read_text('utf-8').rstrip()}\n````\n"


def _resolve(origin: PurePosixPath, link: str) -> str:
    """Return the path in the repository that a link leads to."""
    return os.path.normpath(origin / link).replace(os.sep, "/")


def _is_page(path: str) -> bool:
    return (
        path in PROJECT
        or path.endswith(".ipynb")
        or (path.startswith("docs/") and PurePosixPath(path).suffix in AS_IT_IS)
    )


def _uri(path: str) -> str:
    """Return where the site has a path of the repository."""
    if path in PROJECT:
        return PROJECT[path]
    if path.endswith(".ipynb"):
        return f"{path.removeprefix('docs/').removesuffix('.ipynb')}.md"
    if _is_page(path):
        return path.removeprefix("docs/")
    return f"files/{path}.md"


def _relative(path: str, here: str) -> str:
    """Return the link from a page of the site to what shows a path of the repository."""
    return os.path.relpath(_uri(path), PurePosixPath(here).parent).replace(os.sep, "/")
