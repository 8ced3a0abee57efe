"""The command line, in this process."""

import pytest

from suffice.cli import main


def say_in_process(capsys: pytest.CaptureFixture[str], *tokens: str) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of a command."""
    code = 0
    try:
        main(list(tokens))
    except SystemExit as end:
        code = int(end.code or 0)
    out, err = capsys.readouterr()
    return code, out, err
