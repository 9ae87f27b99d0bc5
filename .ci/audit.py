"""Known weaknesses of what is installed: ``pip-audit`` where its index of advisories answers, else a line that says that it did not.

Run as ``python .ci/audit.py`` with an interpreter that has pip-audit. Exit code 1 where an advisory names an installed version.
"""

from __future__ import annotations

import json
import subprocess
import sys


def main() -> int:
    """Audit this environment, the project itself left out."""
    command = [sys.executable, "-m", "pip_audit", "--progress-spinner", "off", "--skip-editable", "--format", "json"]
    found = subprocess.run(command, capture_output=True, text=True)
    code, words = judged(found.stdout, found.stderr)
    print(words)
    return code


def judged(out: str, err: str) -> tuple[int, str]:
    """The exit code and what to say, from what pip-audit wrote.

    >>> judged("", "ConnectionError: no route")[0]
    0
    >>> judged('{"dependencies": [{"name": "a", "skip_reason": "not found"}]}', "")
    (0, 'Not audited: the index of advisories that can be reached from here knows none of the 1 packages.')
    >>> judged('{"dependencies": [{"name": "a", "version": "1", "vulns": [{"id": "X-1"}]}]}', "")
    (1, 'a 1: X-1')
    """
    try:
        packages = json.loads(out)["dependencies"]
    except (ValueError, KeyError):
        last = (err.strip().splitlines() or ["nothing"])[-1]
        return 0, f"Not audited: no index of advisories could be reached from here. The last words of pip-audit: {last}"
    known = [package for package in packages if "skip_reason" not in package]
    if not known:
        count = len(packages)
        return (
            0,
            f"Not audited: the index of advisories that can be reached from here knows none of the {count} packages.",
        )
    weak = [
        f"{one['name']} {one['version']}: {', '.join(found['id'] for found in one['vulns'])}"
        for one in known
        if one["vulns"]
    ]
    if weak:
        return 1, "\n".join(weak)
    return 0, f"{len(known)} packages audited, {len(packages) - len(known)} not known to the index: no advisory."


if __name__ == "__main__":
    sys.exit(main())
