internal import Glibc

/// Paths of files. The bytes of a name are those that were given: nothing is expanded, escaped or normalised.
package enum FilePath {
    /// The same for all paths to one file, whether or not the file is there yet: absolute, without symbolic links. A
    /// path that leads nowhere, or through names that are no UTF-8, stays as it is, and opening it says why it fails.
    package static func canonical(_ path: String) -> String {
        guard isUsable(path) else { return path }
        if let file = resolved(path) { return file }
        let slash = path.utf8.lastIndex(of: UInt8(ascii: "/"))
        let name = path[(slash.map(path.utf8.index(after:)) ?? path.startIndex)...]
        guard !["", ".", ".."].contains(name) else { return path }
        guard let folder = resolved(slash.map { String(path[...$0]) } ?? ".") else { return path }
        return folder == "/" ? "/" + name : folder + "/" + name
    }

    /// Whether the system can take a path: it has names, and no byte that would end it before its end.
    static func isUsable(_ path: String) -> Bool { !path.isEmpty && !path.utf8.contains(0) }

    private static func resolved(_ path: String) -> String? {
        guard let target = realpath(path, nil) else { return nil }
        defer { free(target) }
        return String(validatingCString: target)
    }
}
