internal import Glibc

/// Whose the files are that root makes in a folder of somebody else: that user's, so that a server which runs as it can use
/// what commands make as root.
package enum FileOwner {
    /// Gives a file that this process has made the owner and the group of its folder, if this process is root's.
    package static func adopt(_ path: String) {
        guard let owner = owner(of: path) else { return }
        // No link is followed: in a folder of another user it may lead anywhere.
        _ = lchown(path, owner.user, owner.group)
    }

    /// Opens a file. If it is missing, it is made for the owner of its folder alone.
    ///
    /// - Parameter flags: those of open(2), without `O_CREAT`.
    /// - Returns: a descriptor, or -1 with the reason in `errno`.
    package static func open(_ path: String, _ flags: Int32) -> Int32 {
        let known = Glibc.open(path, flags)
        guard known < 0, errno == ENOENT else { return known }
        let made = Glibc.open(path, flags | O_CREAT | O_EXCL, 0o600)
        // Somebody else has made it meanwhile, or a link leads to where there is none yet.
        guard made >= 0 || errno != EEXIST else { return Glibc.open(path, flags | O_CREAT, 0o600) }
        if made >= 0, let owner = owner(of: path) { _ = fchown(made, owner.user, owner.group) }
        return made
    }

    /// Who is to have a file that this process makes; nil if that is this process's user.
    private static func owner(of path: String) -> (user: uid_t, group: gid_t)? {
        guard geteuid() == 0 else { return nil }
        let parts = path.split(separator: "/", omittingEmptySubsequences: false).dropLast()
        let folder = parts.isEmpty ? "." : parts == [""] ? "/" : parts.joined(separator: "/")
        var status = stat()
        guard stat(folder, &status) == 0, status.st_uid != 0 else { return nil }
        return (status.st_uid, status.st_gid)
    }
}
