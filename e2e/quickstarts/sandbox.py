"""A machine of a reader: a new root directory, a network without other machines, an empty home, and an ordinary user.

The root has the packages of a clean root (tools/fetch-tools.sh clean-root), and so no compiler. Without a clean root, the
programs are this machine's, and only the network and the home are new.
"""

import fcntl
import os
import pathlib
import shutil
import signal
import socket
import struct
import subprocess
import sys

USER = 1000
HOME = "/home/user"
# ioctl requests and a flag of Linux.
SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP = 0x8913, 0x8914, 1
LINKS = ("bin", "sbin", "lib", "lib64")


def command(folder, clean_root, shown):
    """Returns the command that runs `folder`/script for a reader whose home is `folder`/home.

    `shown` has directories of this machine by their path in the clean root. The reader is an ordinary user if the caller
    is root. Otherwise the caller's user looks like root to the programs.
    """
    options = ["--net", "--mount", "--pid", "--fork", "--kill-child"]
    user = str(USER) if clean_root and os.geteuid() == 0 else "0"
    if os.geteuid():
        options.append("--map-root-user")
    pairs = [f"{path}={source}" for path, source in shown.items()]
    return ["unshare", *options, sys.executable, __file__, str(folder), str(clean_root or ""), user, *pairs]


def start_loopback():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        request = struct.pack("16sH14x", b"lo", 0)
        flags = struct.unpack("16xH14x", fcntl.ioctl(control, SIOCGIFFLAGS, request))[0]
        fcntl.ioctl(control, SIOCSIFFLAGS, struct.pack("16sH14x", b"lo", flags | IFF_UP))


def mount(*arguments):
    subprocess.run(["mount", *map(str, arguments)], check=True)


def show(source, path, writable=False):
    path.mkdir(parents=True, exist_ok=True)
    mount("--bind", source, path)
    if not writable:
        mount("-o", "remount,bind,ro", path)


def enter(folder, clean_root, shown):
    """Makes the root, and enters it."""
    root = folder / "root"
    root.mkdir()
    show(clean_root / "usr", root / "usr")
    shutil.copytree(clean_root / "etc", root / "etc", symlinks=True)
    for name in LINKS:
        (root / name).symlink_to(f"usr/{name}")
    show(folder / "home", root / HOME[1:], writable=True)
    for path, source in shown.items():
        show(source, root / path[1:])
    for name in ("proc", "dev", "tmp"):
        (root / name).mkdir()
    (root / "tmp").chmod(0o1777)
    mount("-t", "proc", "proc", root / "proc")
    mount("--rbind", "/dev", root / "dev")
    os.chroot(root)
    os.chdir(HOME)


def become(user):
    os.setgroups([])
    os.setgid(user)
    os.setuid(user)


def main():
    folder, clean_root, user = pathlib.Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    shown = dict(pair.split("=", 1) for pair in sys.argv[4:])
    script = (folder / "script").read_text()
    start_loopback()
    mount("--make-rprivate", "/")
    if clean_root:
        enter(folder, pathlib.Path(clean_root), shown)
        if user:
            become(user)
    else:
        os.chdir(folder / "home")
    # Python ignores SIGPIPE, and programs would inherit that.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    os.execvp("bash", ["bash", "-c", script])


if __name__ == "__main__":
    main()
