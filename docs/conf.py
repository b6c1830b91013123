"""Settings of the documentation's generator: `make docs` writes docs/_site/index.html."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

project = "credence-testbed"
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.mathjax", "sphinx.ext.napoleon"]
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 2
exclude_patterns = ["_site"]
html_static_path = ["_static"]
html_css_files = ["tables.css"]
html_extra_path = ["leaderboard.html", "leaderboard.json"]
html_theme = "furo"
html_title = project
html_show_copyright = False
