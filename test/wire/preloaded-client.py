"""
Runs one program of Python many times, each in a process of its own that is forked when the modules of the program are loaded: most of the
second that such a command takes is the loading of the same modules. What runs is the program itself, as `__main__`, with its own arguments,
environment, folder and files.

Usage: preloaded-client.py PROGRAM SECONDS_MAX MODULE…
Each line of standard input is a command: {"id", "args", "environment", "folder", "stdin", "stdout", "stderr"}, the last three are paths. Each line of
standard output is an outcome: {"id", "code"}, negative when a signal ended it, which SIGALRM does after SECONDS_MAX.
"""
import gc
import importlib
import json
import os
import runpy
import signal
import sys

program, seconds_max, modules = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
before = dict(os.environ)
for module in modules:
    importlib.import_module(module)
# A module that is loaded sets variables for the rest of its program.
set_by_modules = {name: value for name, value in os.environ.items() if before.get(name) != value}
gc.freeze()


def become(command):
    """Makes this process what a process that had been started for the command would be."""
    for path, flags, number in [
        (command["stdin"], os.O_RDONLY, 0),
        (command["stdout"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 1),
        (command["stderr"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 2),
    ]:
        opened = os.open(path, flags, 0o600)
        os.dup2(opened, number)
        os.close(opened)
    os.chdir(command["folder"])
    os.environ.clear()
    os.environ.update(command["environment"])
    os.environ.update(set_by_modules)
    sys.argv = [program, *command["args"]]
    sys.path[0] = os.path.dirname(program)
    signal.alarm(seconds_max)


def wait_for_ended(options):
    """Their time counts as that of this process."""
    try:
        while os.waitpid(-1, options)[0] > 0:
            pass
    except ChildProcessError:
        pass


# Each command has a process of its own that waits for it and says how it ended.
commands, outcomes = os.fdopen(os.dup(0), "rb", 0), os.dup(1)
is_command = False
while not is_command and (line := commands.readline()):
    wait_for_ended(os.WNOHANG)
    command = json.loads(line)
    if os.fork() > 0:
        continue
    child = os.fork()
    if child > 0:
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        os.write(outcomes, json.dumps({"id": command["id"], "code": code}).encode() + b"\n")
        os._exit(0)
    is_command = True
commands.close()
os.close(outcomes)
if is_command:
    become(command)
    runpy.run_path(program, run_name="__main__")
else:
    wait_for_ended(0)
