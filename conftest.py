"""What pytest leaves out where an extra is not installed."""

from importlib.util import find_spec

# the modules of gramian.deep import torch; tests/deep says why it skips
collect_ignore_glob = [] if find_spec("torch") else ["src/gramian/deep/*"]
