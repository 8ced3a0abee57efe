"""The figures of docs/pictures.md, each from a real run. `python -m docs._figures` writes them into docs/figures."""
