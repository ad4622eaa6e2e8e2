"""Releases of packages, fetched by name through npm, pip and apt and cached as files.

Promises: nothing of a package is run or built, and no registry is named here; the tools' own
configuration says where packages come from. A release is a dict of path -> bytes.
"""

import io
import json
import pathlib
import re
import subprocess
import tarfile
import zipfile


def npm_releases(cache, name, lowest, highest, count):
    """Archives of `count` releases of an npm package, evenly spread over a range of versions."""
    listed = subprocess.run(["npm", "view", name, "versions", "--json"], check=True, capture_output=True, text=True)
    versions = _spread(json.loads(listed.stdout), lowest, highest, count)
    folder = cache / "npm" / name
    folder.mkdir(parents=True, exist_ok=True)
    archives = [folder / f"{name}-{version}.tgz" for version in versions]
    missing = [f"{name}@{version}" for version, archive in zip(versions, archives) if not archive.exists()]
    for start in range(0, len(missing), 8):
        batch = missing[start : start + 8]
        subprocess.run(
            ["npm", "pack", "--silent", "--ignore-scripts", *batch], cwd=folder, check=True, stdout=subprocess.DEVNULL
        )
    return list(zip(versions, archives))


def pypi_releases(cache, name, lowest, highest, count):
    """Source archives of a PyPI package. `pip download` would run each release's setup.py to learn
    its metadata, so pip's finder and session are used directly: same configuration, no foreign code run."""
    from pip._internal.commands.download import DownloadCommand

    folder = cache / "pypi" / name
    folder.mkdir(parents=True, exist_ok=True)
    command = DownloadCommand("download", "fetch source archives")
    options, _ = command.parse_args(["--no-deps", "--no-binary", ":all:", name])
    with command.main_context():
        session = command.get_default_session(options)
        finder = command._build_package_finder(options, session)
        links = {str(c.version): c.link for c in finder.find_all_candidates(name) if not c.version.is_prerelease}
        releases = []
        for version in _spread(links, lowest, highest, count):
            archive = folder / links[version].filename
            if not archive.exists():
                answer = session.get(links[version].url_without_fragment, headers={"Accept-Encoding": "identity"})
                answer.raise_for_status()
                part = archive.with_name(archive.name + ".part")
                part.write_bytes(answer.content)
                part.rename(archive)
            releases.append((version, archive))
    return releases


def debian_tree(cache, names):
    """One folder with the files of Debian packages. Each entry of `names` is a tuple of alternatives,
    because a package may carry a version in its name; an entry with none available is left out."""
    folder = cache / "debian"
    folder.mkdir(parents=True, exist_ok=True)
    tree = folder / "tree"
    for alternatives in names:
        for name in alternatives:
            if not list(folder.glob(f"{name}_*.deb")):
                got = subprocess.run(["apt-get", "download", "-qq", name], cwd=folder, capture_output=True)
                if got.returncode != 0:
                    continue
                for archive in folder.glob(f"{name}_*.deb"):
                    subprocess.run(["dpkg", "-x", archive.name, "tree"], cwd=folder, check=True)
            break
        else:
            print(f"skipped: none of {', '.join(alternatives)} is in this machine's Debian lists")
    return tree


def read_archive(archive, inside, suffixes):
    """Files of an archive below one of the folders `inside` (named without the archive's top folder)."""
    data = pathlib.Path(archive).read_bytes()
    if archive.name.endswith(".zip"):
        with zipfile.ZipFile(io.BytesIO(data)) as opened:
            return {path: opened.read(name) for name in opened.namelist() if (path := _wanted(name, inside, suffixes))}
    files = {}
    with tarfile.open(fileobj=io.BytesIO(data)) as opened:
        for member in opened:
            path = _wanted(member.name, inside, suffixes)
            if path and member.isfile():
                files[path] = opened.extractfile(member).read()
    return files


def _wanted(name, inside, suffixes):
    _, _, path = name.partition("/")
    if not path.endswith(suffixes) or "node_modules/" in path:
        return None
    for folder in inside:
        if path.startswith(folder):
            return path[len(folder) :] if len(inside) == 1 else path
    return None


def _spread(versions, lowest, highest, count):
    def key(version):
        return tuple(int(n) for n in version.split("."))

    plain = sorted((v for v in versions if re.fullmatch(r"\d+(\.\d+)+", v)), key=key)
    ranged = [v for v in plain if key(lowest) <= key(v) <= key(highest)]
    if len(ranged) <= count:
        return ranged
    return [ranged[i * (len(ranged) - 1) // (count - 1)] for i in range(count)]
