"""A sample of scripts/odd_inputs.py: odd inputs are refused, or give finite numbers; no process crashes."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="the script forks, and keeps to one core to warm up")
def test_a_sample_of_odd_inputs():
    command = [sys.executable, str(ROOT / "scripts" / "odd_inputs.py"), "150", "--seed", "1", "--jobs", "2"]
    paths = os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        command, env={**os.environ, "PYTHONPATH": paths}, capture_output=True, text=True, timeout=280, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "150 combinations" in done.stdout
