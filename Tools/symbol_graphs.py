"""The symbol graphs of the modules that users import, read from the modules that the latest build left."""
import json, os, subprocess

MODULES = ["Sluice", "SluiceObservation", "SluiceModel", "SluiceQuery", "SluiceViews", "SluiceTransport", "SluiceServer", "SluiceBackend", "SluiceTesting"]
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def built():
    """The folder with the modules of the latest of the builds for development and for tests."""
    builds = ["debug", "tests/release", "tests-PostgreSQL/release"]
    folders = [os.path.join(ROOT, ".build", build, "Modules") for build in builds]
    folders = [folder for folder in folders if os.path.exists(os.path.join(folder, "Sluice.swiftmodule"))]
    if not folders:
        raise SystemExit("there is no build in .build: run make build")
    return max(folders, key=lambda folder: os.stat(os.path.join(folder, "Sluice.swiftmodule")).st_mtime)


def extract(module, folder):
    """Writes the graph of a module's public symbols, and those of its extensions of other modules, into a folder."""
    target = json.loads(subprocess.check_output(["swiftc", "-print-target-info"]))["target"]["triple"]
    includes = ["-I", built()]
    for name in sorted(os.listdir(os.path.join(ROOT, "Sources"))):
        modulemap = os.path.join(ROOT, "Sources", name, "module.modulemap")
        if os.path.exists(modulemap):
            includes += ["-Xcc", "-fmodule-map-file=" + modulemap]
    subprocess.check_call(
        ["swift-symbolgraph-extract", "-module-name", module, "-target", target, "-minimum-access-level", "public",
         "-skip-synthesized-members", "-output-dir", folder] + includes)
