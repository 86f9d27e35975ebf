"""`kcl doc`: pages in Markdown or HTML, or an OpenAPI document, out of packages, and their examples run as tests.

sources.py       which files make packages, and where their imports lead
resolving.py     which declaration a name in a type means
masking.py       secrets in sources, which pages must not show
model.py         what a documentation consists of: plain values
schemas.py       schemas, mixins, protocols, rules
values.py        aliases, lambdas, variables, options
reading.py       all of it together, and who uses what
prose.py         docstrings taken apart into blocks and parts of lines
pages.py         names, titles and order of pages
markdown.py      pages for GitHub
html.py          pages for a browser, with a search
openapi.py       schemas for tools that know no KCL
documenting.py   from paths to pages, for other programs too
output.py        pages on the disk
examples.py      examples of docstrings
running.py       examples as tests
command.py       the command line
"""

from kcl.tools.doc.command import main
from kcl.tools.doc.documenting import Documentation, documentation
from kcl.tools.doc.pages import Page

__all__ = ["Documentation", "Page", "documentation", "main"]
