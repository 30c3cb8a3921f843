"""``paddle.utils.download``: where downloaded files are. opkit downloads nothing; it says where to put a file."""

from __future__ import annotations

import hashlib
import os
import tarfile
import zipfile
import zlib
from pathlib import Path

from opkit.errors import OpkitError, UsageError
from opkit.shim.missing import guard

__all__ = ["NotDownloadedError", "get_path_from_url", "get_weights_path_from_url", "is_url"]


class BadArchiveError(OpkitError, RuntimeError):
    """A downloaded archive cannot be unpacked."""


#: Where Paddle keeps downloaded weights.
WEIGHTS_HOME = os.path.expanduser("~/.cache/paddle/hapi/weights")

#: Endings that Paddle unpacks, to a folder of the name before them.
_ARCHIVES = (".tar.gz", ".tgz", ".tar.xz", ".tar", ".zip")


class NotDownloadedError(OpkitError, FileNotFoundError, RuntimeError):
    """A file that would have to be downloaded is not there."""


def is_url(path: str) -> bool:
    """Return whether a text is the address of something on the web."""
    return path.startswith(("http://", "https://"))


def get_weights_path_from_url(url: str, md5sum: str | None = None) -> str:
    """Return the path of a file of weights in Paddle's cache.

    Args:
        url: where it could be downloaded from; its last part is the file's name.
        md5sum: what its contents must add up to.

    Raises:
        NotDownloadedError: it is not there; the message says where it belongs.
    """
    return get_path_from_url(url, WEIGHTS_HOME, md5sum)


def get_path_from_url(
    url: str,
    root_dir: str,
    md5sum: str | None = None,
    check_exist: bool = True,
    decompress: bool = True,
    method: str = "get",
) -> str:
    """Return the path of a file that was put into a folder; of an archive, that of what it is unpacked to.

    Args:
        url: where it could be downloaded from.
        root_dir: the folder.
        md5sum: what its contents must add up to.
        check_exist: accepted; a file that is there is used.
        decompress: whether an archive is unpacked beside itself, if it is not yet, and counts by what it holds.
        method: accepted, without effect.

    Raises:
        UsageError: the first argument is not an address.
        NotDownloadedError: it is not there, or its contents are others.
    """
    if not is_url(url):
        raise UsageError(f"{url!r} is not an address that begins with http:// or https://")
    path = Path(root_dir) / url.partition("?")[0].rpartition("/")[2]
    suffix = next((end for end in _ARCHIVES if path.name.endswith(end)), "")
    unpacked = path.with_name(path.name.removesuffix(suffix))
    if decompress and suffix and unpacked.exists():
        return str(unpacked)
    if not path.exists():
        raise NotDownloadedError(f"opkit downloads nothing: {url}", help=f"download it to {path}")
    if md5sum and hashlib.md5(path.read_bytes(), usedforsecurity=False).hexdigest() != md5sum:
        raise NotDownloadedError(f"{path} is not the file of {url}: its md5 sum is another", help="download it again")
    return str(_unpacked(path) if decompress and suffix else path)


def _unpacked(archive: Path) -> Path:
    """Unpack an archive into its folder; return what it holds: its only top folder or file, else its folder.

    Raises:
        BadArchiveError: it cannot be read, or a member would be written outside the folder.
    """
    folder = archive.parent
    try:
        if archive.suffix == ".zip":
            with zipfile.ZipFile(archive) as pack:
                names = pack.namelist()
                pack.extractall(folder)  # it drops absolute parts and ".." of members' names itself
        else:
            with tarfile.open(archive) as pack:
                names = pack.getnames()
                if not hasattr(tarfile, "data_filter"):
                    raise BadArchiveError(f"this Python cannot unpack {archive} safely", help="unpack it by hand")
                pack.extractall(folder, filter="data")
    except (OSError, tarfile.TarError, zipfile.BadZipFile, EOFError, zlib.error) as error:
        raise BadArchiveError(f"cannot unpack {archive}: {error}") from error
    tops = {name.removeprefix("./").partition("/")[0] for name in names} - {"", "."}
    return folder / tops.pop() if len(tops) == 1 else folder


__getattr__ = guard(globals())
