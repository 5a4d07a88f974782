"""`python -m advisor_harness` is the command `advisor-harness`."""

from advisor_harness.cli import main

if __name__ == '__main__':
    main()
