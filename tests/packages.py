"""Packages made, judged and broken by Python's own readers and writers, for `packages.rs`.

    packages.py make FOLDER     every format, of the files in FOLDER/files, as FOLDER/NAME
    packages.py break FOLDER    what cannot be read, of FOLDER/files: NAME and what is wrong, one a line
    packages.py verify WHEEL    that every file of RECORD is there, with its digest and size
"""

import base64
import csv
import hashlib
import io
import os
import shutil
import struct
import subprocess
import sys
import tarfile
import zipfile
import zlib


def files(folder):
    root = os.path.join(folder, "files")
    return {name: open(os.path.join(root, name), "rb").read() for name in sorted(os.listdir(root))}


def make(folder):
    for method in ("STORED", "DEFLATED", "BZIP2"):
        with zipfile.ZipFile(f"{folder}/{method}.zip", "w", getattr(zipfile, "ZIP_" + method)) as out:
            for name, content in files(folder).items():
                out.writestr("lib/" + name, content)
    with open(f"{folder}/program.pyz", "wb") as out:
        out.write(b"#!/usr/bin/env python3\n")
    with zipfile.ZipFile(f"{folder}/program.pyz", "a") as out:
        for name, content in files(folder).items():
            out.writestr("lib/" + name, content)
    with open(f"{folder}/joined.pyz", "wb") as out:
        out.write(b"#!/bin/sh\n" + open(f"{folder}/DEFLATED.zip", "rb").read())
    for mode in ("", "gz", "bz2", "xz"):
        for kind in ("USTAR", "GNU", "PAX"):
            path = f"{folder}/{kind}.tar{mode and '.'}{mode}"
            with tarfile.open(path, f"w:{mode}", format=getattr(tarfile, kind + "_FORMAT")) as out:
                for name, content in files(folder).items():
                    info = tarfile.TarInfo("lib/" + name)
                    info.size = len(content)
                    out.addfile(info, io.BytesIO(content))
    tree = f"{folder}/tree"
    os.makedirs(tree + "/DEBIAN")
    shutil.copytree(f"{folder}/files", tree + "/lib")
    with open(tree + "/DEBIAN/control", "w") as control:
        control.write("Package: demo\nVersion: 1\nArchitecture: all\nMaintainer: n <n@example.org>\nDescription: d\n")
    for method in ("xz", "gzip", "zstd", "none"):
        command = ["dpkg-deb", f"-Z{method}", "--root-owner-group", "--build", tree, f"{folder}/{method}.deb"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    shutil.rmtree(tree)


def local(name, flags, method, content, packed, size=None, checksum=None):
    checksum = zlib.crc32(content) if checksum is None else checksum
    size = len(content) if size is None else size
    fields = struct.pack("<HHIIIIHH", flags, method, 0, checksum, len(packed), size, len(name), 0)
    return b"PK\3\4" + struct.pack("<H", 20) + fields + name + packed


def central(name, flags, method, content, packed, at, size=None, checksum=None):
    checksum = zlib.crc32(content) if checksum is None else checksum
    size = len(content) if size is None else size
    fields = struct.pack("<HHIIIIHH", flags, method, 0, checksum, len(packed), size, len(name), 0)
    return b"PK\1\2" + struct.pack("<HH", 20, 20) + fields + struct.pack("<HHHII", 0, 0, 0, 0, at) + name


def one(flags=0, method=8, size=None, checksum=None, content=b"", packed=None):
    """A zip file with one member."""
    deflate = zlib.compressobj(9, zlib.DEFLATED, -15)
    packed = deflate.compress(content) + deflate.flush() if packed is None else packed
    name = b"lib/broken.co"
    head = local(name, flags, method, content, packed, size, checksum)
    directory = central(name, flags, method, content, packed, 0, size, checksum)
    end = struct.pack("<HHHHIIH", 0, 0, 1, 1, len(directory), len(head), 0)
    return head + directory + b"PK\5\6" + end


def quine(content, copies):
    """Members that all are the same bytes: the way to make much of little."""
    deflate = zlib.compressobj(9, zlib.DEFLATED, -15)
    packed = deflate.compress(content) + deflate.flush()
    head = local(b"lib/x", 0, 8, content, packed)
    directory = b"".join(central(b"lib/x", 0, 8, content, packed, 0) for _ in range(copies))
    end = struct.pack("<HHHHIIH", 0, 0, copies, copies, len(directory), len(head), 0)
    return head + directory + b"PK\5\6" + end


def broken(folder):
    content = files(folder)["flow.co"]
    whole = one(content=content)
    zeros = b"\x7fELF\x02\x01\x01@\x04" + bytes(7) + b"\x03\x00\xe0\x00" + bytes(64 << 20)
    cases = {
        "encrypted.zip": one(flags=1, content=content),
        "lzma.zip": one(method=14, content=content),
        "unknown.zip": one(method=77, content=content),
        "checksum.zip": one(content=content, checksum=1),
        "longer.zip": one(content=content, size=len(content) - 1),
        "shorter.zip": one(content=content, size=len(content) + 1),
        "damaged.zip": one(content=content, packed=b"\x06" + bytes(50)),
        "cut.zip": whole[:-30],
        "overlap.zip": quine(content, 1000),
    }
    deflate = zlib.compressobj(9, zlib.DEFLATED, -15)
    cases["large.zip"] = one(content=zeros)
    for name, data in cases.items():
        with open(f"{folder}/{name}", "wb") as out:
            out.write(data)
    for mode in ("gz", "xz", "bz2"):
        path = f"{folder}/cut.tar.{mode}"
        with tarfile.open(path, f"w:{mode}") as out:
            info = tarfile.TarInfo("lib/broken.co")
            info.size = len(content)
            out.addfile(info, io.BytesIO(content))
        data = open(path, "rb").read()
        with open(path, "wb") as out:
            out.write(data[: len(data) * 2 // 3])


def verify(path):
    with zipfile.ZipFile(path) as wheel:
        assert wheel.testzip() is None
        names = [name for name in wheel.namelist() if not name.endswith("/")]
        record = next(name for name in names if name.endswith(".dist-info/RECORD"))
        rows = list(csv.reader(io.TextIOWrapper(wheel.open(record), "utf-8")))
        assert sorted(row[0] for row in rows) == sorted(names), "RECORD names other files"
        for name, digest, size in rows:
            if name == record:
                continue
            content = wheel.read(name)
            expected = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
            assert (digest, size) == ("sha256=" + expected, str(len(content))), name
    print("\n".join(names))


def test(path):
    with zipfile.ZipFile(path) as program:
        print(program.testzip())


{"make": make, "test": test, "break": broken, "verify": verify}[sys.argv[1]](sys.argv[2])
