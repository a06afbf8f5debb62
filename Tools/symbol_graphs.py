"""The symbol graphs of the modules that users import, read from the modules that a debug build left."""
import json, os, subprocess

MODULES = ["Sluice", "SluiceObservation", "SluiceModel", "SluiceQuery", "SluiceViews", "SluiceTransport", "SluiceServer", "SluiceBackend", "SluiceTesting"]
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def extract(module, folder):
    """Writes the graph of a module's public symbols, and those of its extensions of other modules, into a folder."""
    target = json.loads(subprocess.check_output(["swiftc", "-print-target-info"]))["target"]["triple"]
    includes = ["-I", os.path.join(ROOT, ".build", "debug", "Modules")]
    for name in sorted(os.listdir(os.path.join(ROOT, "Sources"))):
        modulemap = os.path.join(ROOT, "Sources", name, "module.modulemap")
        if os.path.exists(modulemap):
            includes += ["-Xcc", "-fmodule-map-file=" + modulemap]
    subprocess.check_call(
        ["swift-symbolgraph-extract", "-module-name", module, "-target", target, "-minimum-access-level", "public",
         "-skip-synthesized-members", "-output-dir", folder] + includes)
