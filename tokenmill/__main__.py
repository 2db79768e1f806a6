"""``python -m tokenmill``."""

import sys

from tokenmill.cli import main

if __name__ == "__main__":
    sys.exit(main())
