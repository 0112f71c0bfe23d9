"""Archives that are the same whenever they are made of the same content."""
import gzip
import io
import json
import pathlib
import tarfile
import zipfile

# 1 January 1980, the first day that a zip file can tell.
EPOCH = 315532800
DAY = (1980, 1, 1, 0, 0, 0)


def as_json(value) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def tar(entries: list[tuple[str, bytes, int]]) -> bytes:
    """Files of these names, contents and modes, with the folders above them; a name that ends with `/` is a folder."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        written = set()
        for name, content, mode in entries:
            above = [f"{folder}/" for folder in reversed(pathlib.PurePosixPath(name).parents) if str(folder) != "."]
            for folder in above + ([name] if name.endswith("/") else []):
                if folder not in written:
                    written.add(folder)
                    info = tarfile.TarInfo(folder.rstrip("/"))
                    info.type, info.mode, info.mtime = tarfile.DIRTYPE, mode if folder == name else 0o755, EPOCH
                    archive.addfile(info)
            if not name.endswith("/"):
                info = tarfile.TarInfo(name)
                info.size, info.mode, info.mtime = len(content), mode, EPOCH
                archive.addfile(info, io.BytesIO(content))
    return out.getvalue()


def gzipped(content: bytes) -> bytes:
    return gzip.compress(content, compresslevel=9, mtime=0)


def zipped(entries: list[tuple[str, bytes, int]]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, content, mode in entries:
            info = zipfile.ZipInfo(name, DAY)
            info.compress_type = zipfile.ZIP_DEFLATED
            info.create_system, info.external_attr = 3, (0o100000 | mode) << 16
            archive.writestr(info, content, compresslevel=9)
    return out.getvalue()
