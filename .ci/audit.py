"""Known weaknesses of what is installed: ``pip-audit`` where its index of advisories answers, else a line that says that it did not.

Run as ``python .ci/audit.py`` with an interpreter that has pip-audit. Exit code 1 where an advisory names an installed version.
"""

from __future__ import annotations

import subprocess
import sys


def main() -> int:
    """Audit this environment, the project itself left out."""
    found = subprocess.run(
        [sys.executable, "-m", "pip_audit", "--progress-spinner", "off", "--skip-editable"],
        capture_output=True,
        text=True,
    )
    unreachable = ("ServiceError", "ConnectionError", "Traceback", "Failed to")
    if found.returncode and any(word in found.stderr for word in unreachable):
        print("Not audited: no index of advisories could be reached from here. The last words of pip-audit:")
        print(found.stderr.strip().splitlines()[-1])
        return 0
    print(found.stdout or found.stderr)
    return found.returncode


if __name__ == "__main__":
    sys.exit(main())
