# SPDX-License-Identifier: Apache-2.0
"""Whatever a driver of loads has started ends with it, however that ends, and no file that a load writes grows without end."""
import ctypes
import os
import resource
import select
import shutil
import signal
import sys
import tempfile
import time

LIBC = ctypes.CDLL(None, use_errno=True)
PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
PASSED_ON = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
FOLDER = "harm-"  # addresses of sockets below are short
MOST_BYTES = 2 << 30  # of a file: several times what a run that passes writes


def bounded():
    """Before a program starts: neither it nor its drain fills a disk, should nobody be left to end them."""
    hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
    most = MOST_BYTES if hard == resource.RLIM_INFINITY else min(hard, MOST_BYTES)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))


def parents():
    found = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as f:
                found[int(pid)] = int(f.read().rpartition(")")[2].split()[1])
        except OSError:
            pass
    return found


def descendants():
    """Of this process, to which all return whose parents are gone."""
    all_of_them, found, last = parents(), set(), {os.getpid()}
    while last:
        last = {pid for pid, parent in all_of_them.items() if parent in last}
        found |= last
    return found


def reap(driver):
    """Those that have ended. The driver's status, once it has."""
    status = None
    try:
        while True:
            pid, how = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                break
            status = how if pid == driver else status
    except ChildProcessError:
        pass
    return status


def subreaper():
    if LIBC.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "PR_SET_CHILD_SUBREAPER")


def end_all():
    """What is killed may have started others a moment before: until nobody is left."""
    while left := descendants():
        for pid in left:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        time.sleep(0.01)
        reap(0)


def pass_on(to):
    for number in PASSED_ON:
        signal.signal(number, lambda n, _: os.kill(to, n))


def watch(driver, above, ended):
    """Until the driver has ended or the process above, whose end of a pipe is closed then."""
    status = None
    while status is None and above not in select.select([above, ended], [], [])[0]:
        try:
            os.read(ended, 4096)
        except BlockingIOError:
            pass
        status = reap(driver)
    end_all()
    return 1 if status is None else os.waitstatus_to_exitcode(status)


def own_folder():
    """Where all temporary files are from now on. None: a driver above has made one."""
    if os.path.basename(os.environ.get("TMPDIR", "")).startswith(FOLDER):
        return None
    tempfile.tempdir = os.environ["TMPDIR"] = tempfile.mkdtemp(prefix=FOLDER)
    os.chmod(tempfile.tempdir, 0o755)  # other users of some tests go through it
    return tempfile.tempdir


def remove(folder):
    if folder:
        shutil.rmtree(folder, ignore_errors=True)


def stand_between(above, folder):
    """The warden. Returns in its child only, which is the driver."""
    os.setpgid(0, 0)  # what the terminal sends comes once
    subreaper()
    ended, wake = os.pipe()
    os.set_blocking(ended, False)
    os.set_blocking(wake, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wake)
    driver = os.fork()
    if driver:
        pass_on(driver)
        status = watch(driver, above, ended)
        remove(folder)
        leave(status)
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGCHLD, *PASSED_ON):
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for fd in (above, ended, wake):
        os.close(fd)


def leave(status):
    os._exit(status if status >= 0 else 128 - status)


def keep():
    """
    Goes on in a grandchild of this process, which is the driver from now on; between both is a warden, which ends all
    there is below it once either has ended, and removes its temporary files.
    """
    sys.stdout.flush()
    subreaper()
    folder = own_folder()
    above, here = os.pipe()
    warden = os.fork()
    if warden == 0:
        os.close(here)
        stand_between(above, folder)
        return
    os.close(above)
    pass_on(warden)
    status = os.waitstatus_to_exitcode(os.waitpid(warden, 0)[1])
    end_all()  # should somebody have ended the warden
    remove(folder)
    leave(status)
