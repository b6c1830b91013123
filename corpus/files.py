"""Folders and files that are whole or absent: written aside, checksummed, synced, renamed (design.md 8)."""

import hashlib
import json
import os
import platform
import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from corpus.errors import InputError

CHECKSUMS = "sha256.json"
OWN_SUM = "sha256"
DEEPEST, LARGEST = 50, 1 << 28
"""Objects and lists inside each other in a JSON file, and its bytes."""


@contextmanager
def staged_folder(folder: Path) -> Iterator[Path]:
    """Yield an empty folder beside `folder` that becomes it when the block ends without an error.

    What is left of a killed attempt is cleared first; on an error the attempt is removed. Of a folder that is
    there already, the files that its checksums name are replaced, and what else lies in it stays.
    """
    folder = folder.resolve()
    aside = partial_folder(folder)
    recover_folder(folder)
    shutil.rmtree(aside, ignore_errors=True)
    aside.mkdir(parents=True)
    try:
        yield aside
        files = sorted(p for p in aside.rglob("*") if p.is_file())
        sums = {str(p.relative_to(aside)): hash_file(p) for p in files}
        (aside / CHECKSUMS).write_text(_format_checksums(sums), encoding="utf-8")
        # A folder keeps the names of its files through a loss of power only once it is synced itself.
        folders = [aside, *(p for p in aside.rglob("*") if p.is_dir())]
        for path in [*files, aside / CHECKSUMS, *folders]:
            _sync_path(path)
        if folder.exists():
            _swap_files(aside, folder, list(sums))
        else:
            os.replace(aside, folder)
        _sync_path(folder.parent)
    except BaseException:
        if not _earlier_folder(folder).exists():
            shutil.rmtree(aside, ignore_errors=True)
        raise


def partial_folder(folder: Path) -> Path:
    """Where `staged_folder` prepares a folder."""
    return folder.with_name(f".{folder.name}.partial")


def _swap_files(aside: Path, folder: Path, names: Sequence[str]) -> None:
    """Put files of one folder in the place of those of another, which has no checksums meanwhile."""
    earlier, old = _earlier_folder(folder), list_sealed(folder)
    try:
        earlier.mkdir()
        _sync_path(folder.parent)
        _move_files(folder, earlier, [CHECKSUMS])
        _move_files(folder, earlier, {*old, *names})
        _move_files(aside, folder, names)
        _move_files(aside, folder, [CHECKSUMS])
    except BaseException:
        recover_folder(folder)
        raise
    shutil.rmtree(earlier)
    shutil.rmtree(aside)
    for path in sorted({folder / parent for name in old for parent in Path(name).parents}, reverse=True):
        # A folder of files that are no longer there, unless somebody keeps something in it.
        if path.is_dir() and not any(path.iterdir()):
            path.rmdir()


def recover_folder(folder: Path) -> None:
    """Undo a swap that was killed: new files go away again, and the earlier ones back to where they were."""
    folder = folder.resolve()
    aside, earlier = partial_folder(folder), _earlier_folder(folder)
    if earlier.exists() and not (folder / CHECKSUMS).exists():
        for new, there in ((aside / name, folder / name) for name in list_sealed(aside)):
            is_old = new.exists() and not (there.exists() and there.samefile(new))
            if not is_old or (earlier / there.relative_to(folder)).exists():
                there.unlink(missing_ok=True)
        _move_files(earlier, folder, {str(p.relative_to(earlier)) for p in earlier.rglob("*")} - {CHECKSUMS})
        _move_files(earlier, folder, [CHECKSUMS])
    if earlier.exists():
        shutil.rmtree(earlier)


def _earlier_folder(folder: Path) -> Path:
    return folder.with_name(f".{folder.name}.earlier")


def _move_files(start: Path, end: Path, names: Iterable[str]) -> None:
    """Move those that are there; at every moment the disk has each in one of both folders."""
    moved = [name for name in sorted(names) if (start / name).is_file()]
    for name in moved:
        (end / name).parent.mkdir(parents=True, exist_ok=True)
        (end / name).unlink(missing_ok=True)
        try:
            os.link(start / name, end / name)
        except OSError:
            shutil.copy2(start / name, end / name)
            _sync_path(end / name)
    _sync_parents(end, moved)
    for name in moved:
        (start / name).unlink()
    _sync_parents(start, moved)


def _sync_parents(folder: Path, names: Iterable[str]) -> None:
    for path in sorted({folder / parent for name in names for parent in Path(name).parents}):
        _sync_path(path)


def list_sealed(folder: Path) -> list[str]:
    """The files of a folder that its checksums name; none where it has no checksums, or damaged ones."""
    try:
        return list(read_json(folder / CHECKSUMS))
    except InputError:
        return []


def seal_folder(folder: Path, names: Iterable[str]) -> None:
    """Write the checksums of some files of a folder; until then it counts as unfinished."""
    sums = {name: hash_file(folder / name) for name in sorted(names)}
    with staged_file(folder / CHECKSUMS) as aside:
        aside.write_text(_format_checksums(sums), encoding="utf-8")


def verify_folder(folder: Path, only: str = "") -> None:
    """Check every file of a folder, or only one of them, against the checksum written with it.

    Raises:
        InputError: the folder or a file is missing, or a file has changed, be it the list of checksums.
    """
    sums = read_json(folder / CHECKSUMS, folder)
    if not sums or (folder / CHECKSUMS).read_bytes() != _format_checksums(sums).encode():
        raise InputError(
            f"{folder / CHECKSUMS} is not a list of checksums as they are written; {advise_remake(folder)}"
        )
    for name, expected in sums.items():
        path = folder / name
        if Path(name).is_absolute() or ".." in Path(name).parts:
            raise InputError(f"{folder / CHECKSUMS} names {name!r}, which does not lie in its folder")
        if only and name != only:
            continue
        if not path.is_file() or hash_file(path) != expected:
            raise InputError(f"{path} is missing or differs from its checksum; {advise_remake(folder)}")


@contextmanager
def staged_file(path: Path) -> Iterator[Path]:
    """Yield a path beside `path` that replaces it when the block ends without an error."""
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = path.with_name(f".{path.name}.partial")
    try:
        yield aside
        _sync_path(aside)
        os.replace(aside, path)
        _sync_path(path.parent)
    except BaseException:
        aside.unlink(missing_ok=True)
        raise


def write_json(path: Path, content: dict) -> None:
    """Write a small JSON file whole or not at all."""
    with staged_file(path) as aside:
        aside.write_text(_format_json(content), encoding="utf-8")


def write_json_once(path: Path, content: dict) -> None:
    """Write a small JSON file where there is none yet; of several processes the first one's stays."""
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = path.with_name(f".{path.name}.{platform.node()}-{os.getpid()}")
    try:
        aside.write_text(_format_json(content), encoding="utf-8")
        _sync_path(aside)
        with suppress(FileExistsError):
            os.link(aside, path)
            _sync_path(path.parent)
    finally:
        aside.unlink(missing_ok=True)


def read_json(path: Path, part: Path | None = None) -> dict:
    """Read a JSON object.

    Args:
        part: what has to be made again where the file is damaged; by default the file.

    Raises:
        InputError: it is missing, or holds something else.
    """
    require_regular(path)
    todo = advise_remake(part or path)
    if path.is_file() and path.stat().st_size > LARGEST:
        raise InputError(f"{path} is longer than {LARGEST:,} bytes; {todo}")
    try:
        content = json.loads(path.read_text(encoding="utf-8"), object_pairs_hook=build_object)
    except (FileNotFoundError, NotADirectoryError):
        raise InputError(f"{path} is missing; {todo}") from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} is not readable as JSON ({error}); {todo}") from None
    if not isinstance(content, dict):
        raise InputError(f"{path} holds no JSON object; {todo}")
    if _is_deeper(content, DEEPEST):
        raise InputError(f"{path} is nested deeper than {DEEPEST} times; {todo}")
    return content


def build_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of JSON; readers differ about a key that stands there twice.

    Raises:
        ValueError: one does.
    """
    content = dict(pairs)
    if len(content) < len(pairs):
        keys = [key for key, _ in pairs]
        raise ValueError(f"the key {next(key for key in keys if keys.count(key) > 1)!r} stands there twice")
    return content


def _is_deeper(content: Any, most: int) -> bool:
    """Whether something that JSON can hold is nested more than so many times."""
    level: list[Any] = [content]
    for _ in range(most):
        parts = (list(x.values()) if isinstance(x, dict) else x for x in level if isinstance(x, dict | list))
        level = [part for some in parts for part in some]
        if not level:
            return False
    return True


def write_record(path: Path, content: dict) -> None:
    """Write a small JSON file with its own checksum in it, whole or not at all."""
    write_json(path, content | {OWN_SUM: hash_content(content, 64)})


def read_record(path: Path) -> dict:
    """Read what `write_record` wrote, without the checksum.

    Raises:
        InputError: it is missing, or differs from its checksum in a single byte.
    """
    content = read_json(path)
    expected = content.pop(OWN_SUM, None)
    whole = _format_json(content | {OWN_SUM: hash_content(content, 64)})
    if path.read_bytes() != whole.encode():
        why = "has no checksum" if expected is None else "differs from its checksum"
        raise InputError(f"{path} {why}; {advise_remake(path)}")
    return content


def require_regular(path: Path) -> None:
    """Refuse a pipe, a device or a socket, which may never end and can be read once only.

    Raises:
        InputError: it is one.
    """
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise InputError(f"{path} is a pipe or a device; write what it says to a file, and name that")


@contextmanager
def require_unchanged(*paths: Path) -> Iterator[None]:
    """Refuse files, or files in folders, that are written, replaced or removed while the block reads them.

    Raises:
        InputError: one was, whatever else went wrong meanwhile.
    """
    before = _describe_states(paths)
    try:
        yield
    finally:
        after = _describe_states(paths)
        if unlike := sorted(path for path, _ in before ^ after):
            raise InputError(f"{unlike[0]} was changed while it was read; type the command again") from None


def _describe_states(paths: Iterable[Path]) -> set[tuple[Path, tuple[int, ...]]]:
    """The files that are there, and what any write to one of them changes."""
    files = (file for path in paths for file in (path, *path.rglob("*")) if file.is_file())
    states = ((file, file.stat()) for file in files)
    return {(file, (of.st_ino, of.st_size, of.st_mtime_ns, of.st_ctime_ns)) for file, of in states}


def hash_file(path: Path) -> str:
    """Checksum of a file.

    Raises:
        InputError: it is a pipe or a device, which may never end.
    """
    require_regular(path)
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def hash_content(content: Any, digits: int = 12) -> str:
    """A hash of something that JSON can hold, a short one by default."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:digits]


def advise_remake(path: Path) -> str:
    """What to do about a damaged file or folder."""
    return f"move {path} away and make it again (python -m testbed.verify says by which command)"


def _format_checksums(sums: dict) -> str:
    return json.dumps(sums, indent=1)


def _format_json(content: dict) -> str:
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"


def _sync_path(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
