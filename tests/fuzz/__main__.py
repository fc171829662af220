"""`make fuzz`: attack in rounds, each with a seed of its own, until the time is up."""

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path


def main() -> int:
    """How it ended: 0 without a finding."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    end = time.time() + 60 * options.minutes
    seed = options.seed
    while time.time() < end:
        # Without the checks of types that tests make: what users run has none.
        command = [sys.executable, "-m", "pytest", str(Path(__file__).parent), "-q", "--tb=short"]
        command += ["-o", "addopts=--strict-markers", f"--hypothesis-seed={seed}"]
        done = subprocess.run(command, env=os.environ | {"FUZZ_END": str(end)})
        if done.returncode:
            print(f"A finding with SEED={seed}: mend it, and put it into the corpus.")
            return 1
        seed += 1
    print(f"No finding in {options.minutes:g} minutes, seeds {options.seed} to {seed - 1}.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
