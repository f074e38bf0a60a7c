"""`python -m slmagent.cli`."""

import sys

from slmagent.cli import main

if __name__ == "__main__":
    sys.exit(main())
