"""Runs a command under the Python tool, the way a wrapper would: python_tool.py SECS OUT -- COMMAND...

Samples go to OUT.process and OUT.system. The clouds' metadata services are not asked: a measurement
sends nothing anywhere.
"""
import subprocess
import sys

from resource_tracker import ResourceTracker

interval, out, _, *command = sys.argv[1:]
job = subprocess.Popen(command)
tracker = ResourceTracker(pid=job.pid, interval=float(interval), discover_cloud=False)
# It writes to files with names of its own choice; ours are found again.
tracker.process_tracker_filepath = f"{out}.process"
tracker.system_tracker_filepath = f"{out}.system"
tracker.start()
status = job.wait()
tracker.stop()
sys.exit(status)
