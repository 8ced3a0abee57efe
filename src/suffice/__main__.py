"""The command `suffice`, also as `python -m suffice`."""

import sys


def main() -> None:
    """Run the command line, or say which extra it needs."""
    try:
        from suffice.cli import main as run
    except ImportError as error:
        if error.name is None or error.name.split(".")[0] not in ("cyclopts", "rich"):
            raise
        sys.exit("the command line needs two more packages: pip install 'suffice[cli]'")
    except KeyboardInterrupt:  # as `suffice.cli` does, once it is there
        sys.exit(130)
    run()


if __name__ == "__main__":
    main()
