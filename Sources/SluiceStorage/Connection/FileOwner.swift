internal import Glibc

/// Whose the files are that root makes in a folder of somebody else: that user's, so that a server which runs as it can use
/// what commands make as root.
package enum FileOwner {
    /// Gives a file that this process has made the owner and the group of its folder, if this process is root's.
    package static func adopt(_ path: String) {
        guard geteuid() == 0 else { return }
        let parts = path.split(separator: "/", omittingEmptySubsequences: false).dropLast()
        let folder = parts.isEmpty ? "." : parts == [""] ? "/" : parts.joined(separator: "/")
        var status = stat()
        guard stat(folder, &status) == 0, status.st_uid != 0 else { return }
        // No link is followed: in a folder of another user it may lead anywhere.
        _ = lchown(path, status.st_uid, status.st_gid)
    }
}
