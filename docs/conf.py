"""The documentation as a site: Sphinx, furo, MyST. `make docs` builds it into build/docs; nothing comes from outside."""

import sys
from pathlib import Path

import suffice

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))

project = "suffice"
author = "the suffice authors"
project_copyright = "the suffice authors, Apache-2.0"
version = release = suffice.__version__
language = "en-GB"

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "repository",  # docs/_ext: links into the repository, and pictures for light and dark pages
    "docstrings",  # docs/_ext: plain docstrings in the reference
    *(["commands"] if (HERE / "_ext" / "commands.py").exists() else []),  # the help of every command
]
exclude_patterns = ["_ext", "_static", "**/output", "**/__pycache__", "figures"]

# --- Markdown

myst_enable_extensions = ["attrs_inline", "colon_fence", "deflist"]
myst_heading_anchors = 4
source_suffix = {".md": "markdown"}
pygments_style, pygments_dark_style = "friendly", "github-dark"
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

# --- the reference

default_role = "literal"  # `this` in a docstring is code
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_preserve_defaults = True
napoleon_google_docstring, napoleon_numpy_docstring = True, False
python_use_unqualified_type_names = True
maximum_signature_line_length = 80
nitpick_ignore_regex = [
    # Types of other packages, and type variables: there is no page of ours to point to, and none outside is asked for.
    (
        r"py:.*",
        r"(np|numpy|npt|NDArray|float64|int64|collections|typing|pathlib|os|fractions|datetime|httpx|types)(\..*)?",
    ),
    # What is behind the public names, and has no page.
    (
        r"py:.*",
        r"suffice\.(client\.requests|context\.features|context\.models\.\w+|promise\.\w+|simulator|lab\.streams\.(routing_files|hidden_costs))\.[A-Z]\w+",
    ),
    (
        r"py:.*",
        r"(Any|Callable|Iterable|Iterator|Mapping|Sequence|Fraction|Path|PathLike|Floats|Protocol|Self|ClassVar)",
    ),
]

# --- pages

html_theme = "furo"
html_title = "suffice"
html_static_path = ["_static"]
html_css_files = ["house.css"]
html_favicon = "_static/favicon.svg"
html_copy_source = html_show_sourcelink = False
html_show_sphinx = False
html_theme_options = {
    "light_logo": "logo.svg",
    "dark_logo": "logo-dark.svg",
    "sidebar_hide_name": True,
    "navigation_with_keys": True,
    "top_of_page_buttons": [],
    "light_css_variables": {
        "color-brand-primary": "#00704f",
        "color-brand-content": "#00654a",
        "color-brand-visited": "#00654a",
    },
    "dark_css_variables": {
        "color-brand-primary": "#3fcf9f",
        "color-brand-content": "#4fd6a9",
        "color-brand-visited": "#4fd6a9",
    },
}

# --- links to other places: `make docs-links`

linkcheck_timeout = 15
linkcheck_retries = 2
linkcheck_ignore = [r"https?://(127\.0\.0\.1|localhost)"]
linkcheck_anchors = False
