"""A preprocessor of mdBook: links from docs/ to other files of the repository lead to REPOSITORY, such as
https://github.com/OWNER/filterd/blob/v0.1.0. Without that variable they stay as they are."""
import json
import os
import posixpath
import re
import sys

LINK = re.compile(r"\]\((?![a-z]+:|#)([^)\s]+)")


def chapters(node):
    for value in node.values() if isinstance(node, dict) else node:
        if isinstance(value, (dict, list)):
            yield from chapters(value)
    if isinstance(node, dict) and node.get("source_path"):
        yield node


def outside(chapter, repository):
    folder = posixpath.dirname("docs/" + chapter["source_path"])

    def replaced(match):
        path = posixpath.normpath(posixpath.join(folder, match[1]))
        return match[0] if path.startswith("docs/") else f"]({repository}/{path}"

    return LINK.sub(replaced, chapter["content"])


if sys.argv[1:2] != ["supports"]:
    _, book = json.load(sys.stdin)
    repository = os.environ.get("REPOSITORY")
    if repository:
        for chapter in chapters(book):
            chapter["content"] = outside(chapter, repository.rstrip("/"))
    json.dump(book, sys.stdout)
