"""Power lost at any moment, writes in any order between syncs: what is there is whole, or as it was before.

A disk keeps of a file what it had when it was synced, or any of what came later; of a folder the names that
it had when it was synced, and any of the changes since. Such disks are built at every sync and rename.
"""

import errno
import itertools
import os
import random
from contextlib import contextmanager

import pytest

from corpus.files import (
    CHECKSUMS,
    seal_folder,
    staged_file,
    staged_folder,
    verify_folder,
    write_json,
    write_record,
)

DISKS = 10
"""So many of the disks that are possible at a moment are built, drawn at random."""


def read_tree(path, nodes=None):
    """By inode: bytes of a file, names and inodes of a folder."""
    nodes = {} if nodes is None else nodes
    inode = path.stat().st_ino
    if path.is_dir():
        nodes[inode] = {child.name: child.stat().st_ino for child in path.iterdir()}
        for child in path.iterdir():
            read_tree(child, nodes)
    else:
        nodes[inode] = path.read_bytes()
    return nodes


class Disk:
    """What is certain of a folder, and what is there; `moments` has both at every sync and rename."""

    def __init__(self, root):
        self.root, self.certain, self.moments = root, read_tree(root), []

    def note(self):
        self.moments.append((dict(self.certain), read_tree(self.root)))

    @contextmanager
    def watch(self, monkeypatch):
        fsync, replace = os.fsync, os.replace

        def sync(handle):
            self.note()
            fsync(handle)
            inode = os.fstat(handle).st_ino
            self.certain[inode] = read_tree(self.root).get(inode, b"")
            self.note()

        def rename(source, target):
            self.note()
            replace(source, target)
            self.note()

        with monkeypatch.context() as patched:
            patched.setattr(os, "fsync", sync)
            patched.setattr(os, "replace", rename)
            yield


def choose_names(before, now, rng):
    """The names of a folder after power was lost: any of its changes are there."""
    return {
        name: (now if rng.random() < 0.5 else before).get(name)
        for name in before.keys() | now.keys()
        if before.get(name) != now.get(name)
    } | {name: inode for name, inode in now.items() if before.get(name) == inode}


def build_disk(certain, there, inode, path, rng):
    """One disk that may be left of what was certain and what was there."""
    now, before = there.get(inode, certain.get(inode)), certain.get(inode)
    if isinstance(now, dict):
        path.mkdir()
        for name, child in choose_names(before or {}, now, rng).items():
            if child is not None and (child in there or child in certain):
                build_disk(certain, there, child, path / name, rng)
    else:
        before = b"" if before is None else before
        path.write_bytes(rng.choice([before, now, now[: len(now) // 2]]) if before != now else now)


def lost_disks(disk, tmp_path):
    """Disks after power was lost, at every moment."""
    rng, number = random.Random(0), itertools.count()
    root = disk.root.stat().st_ino
    for certain, there in disk.moments:
        for _ in range(DISKS):
            path = tmp_path / f"disk-{next(number)}"
            build_disk(certain, there, root, path, rng)
            yield path


def write_folder(root, tokens=b"12345678" * 9, deep="deep"):
    with staged_folder(root / "corpus") as aside:
        (aside / "tokens").write_bytes(tokens)
        (aside / deep).mkdir()
        (aside / deep / "counts").write_bytes(b"abc" + tokens)


def contents(folder):
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def test_a_folder_is_whole_or_absent(tmp_path, monkeypatch):
    root = tmp_path / "root"
    root.mkdir()
    disk = Disk(root)
    with disk.watch(monkeypatch):
        write_folder(root)
    whole, seen = contents(root / "corpus"), {True: 0, False: 0}
    for path in lost_disks(disk, tmp_path):
        is_there = (path / "corpus").exists()
        seen[is_there] += 1
        if is_there:
            verify_folder(path / "corpus")
        else:
            write_folder(path)
        assert contents(path / "corpus") == whole
    assert min(seen.values()) > 5
    disk.moments = disk.moments[-1:]
    (tmp_path / "after").mkdir()
    assert all((path / "corpus").exists() for path in lost_disks(disk, tmp_path / "after")), "it is certain"


def write_once_and_keep(root):
    """A folder with something beside it that somebody put there."""
    write_folder(root, b"old", "former")
    (root / "corpus" / "notes.txt").write_bytes(b"mine")
    (root / "corpus" / "former" / "mine.txt").write_bytes(b"mine, too")
    return contents(root / "corpus")


def assert_sealed_is_whole(folder, old, new):
    """A folder that has checksums is the old one or the new one."""
    if (folder / CHECKSUMS).exists():
        verify_folder(folder)
        assert contents(folder) in (old, new)


def test_a_folder_that_is_written_again_is_the_old_or_the_new_one_or_unsealed(tmp_path, monkeypatch):
    root = tmp_path / "root"
    root.mkdir()
    old = write_once_and_keep(root)
    disk = Disk(root)
    with disk.watch(monkeypatch):
        write_folder(root)
    new = contents(root / "corpus")
    disk.moments = disk.moments[::3]
    assert new.keys() == {"tokens", "deep/counts", CHECKSUMS, "notes.txt", "former/mine.txt"}
    for path in lost_disks(disk, tmp_path):
        assert_sealed_is_whole(path / "corpus", old, new)
        write_folder(path)
        assert contents(path / "corpus") == new
        assert [one.name for one in path.iterdir()] == ["corpus"]


@pytest.mark.parametrize("lasting", [False, True], ids=["once", "from there on"])
def test_a_call_that_fails_while_a_folder_is_written_again_loses_nothing(lasting, tmp_path, monkeypatch):
    """Each rename, sync and new folder fails in turn; what was there stays, or comes back."""
    failed = 0
    for number in itertools.count(1):
        root = tmp_path / str(number)
        root.mkdir()
        old, calls = write_once_and_keep(root), itertools.count(1)

        def fail(call, calls=calls, number=number):
            def attempt(*args, **options):
                at = next(calls)
                if at == number or (lasting and at > number):
                    raise OSError(errno.ENOSPC, "full")
                return call(*args, **options)

            return attempt

        with monkeypatch.context() as patched:
            for name in ("replace", "fsync", "mkdir"):
                patched.setattr(os, name, fail(getattr(os, name)))
            try:
                write_folder(root)
            except OSError:
                failed += 1
        if next(calls) <= number:
            break
        new = old | {"tokens": b"12345678" * 9}
        if (root / "corpus" / CHECKSUMS).exists():
            verify_folder(root / "corpus")
        elif not lasting:
            raise AssertionError(f"call {number} left a folder without checksums")
        assert {"notes.txt", "former/mine.txt"} <= contents(root / "corpus").keys()
        write_folder(root)
        verify_folder(root / "corpus")
        assert contents(root / "corpus")["tokens"] == new["tokens"]
        assert [one.name for one in root.iterdir()] == ["corpus"]
    assert failed > 20


@pytest.mark.parametrize("write", [write_json, write_record])
def test_a_file_is_the_old_one_or_the_new_one(write, tmp_path, monkeypatch):
    root = tmp_path / "root"
    root.mkdir()
    write(root / "config.json", {"step": 1})
    old = (root / "config.json").read_bytes()
    disk = Disk(root)
    with disk.watch(monkeypatch):
        write(root / "config.json", {"step": 2})
    new, seen = (root / "config.json").read_bytes(), set()
    for path in lost_disks(disk, tmp_path):
        seen.add((path / "config.json").read_bytes())
    assert seen == {old, new}


def test_checksums_come_after_what_they_are_of(tmp_path, monkeypatch):
    """A folder that is filled file by file counts as finished only where every file is whole."""
    root = tmp_path / "root"
    (root / "edits").mkdir(parents=True)
    disk = Disk(root)
    with disk.watch(monkeypatch):
        for name in ("cases", "choices"):
            with staged_file(root / "edits" / name) as aside:
                aside.write_bytes(name.encode() * 9)
        seal_folder(root / "edits", ["cases", "choices"])
    finished = 0
    for path in lost_disks(disk, tmp_path):
        if (path / "edits" / "sha256.json").exists():
            verify_folder(path / "edits")
            finished += 1
    assert finished
