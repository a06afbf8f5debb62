internal import FoundationEssentials
internal import Glibc
internal import SluiceStorage

/// The file in a data folder that says which databases clients may open. Commands change it while the server runs.
package struct RestrictionFile: Sendable {
    static let name = "/server.databases"

    private let path: String

    /// - Parameter folder: the data folder.
    package init(inFolder folder: String) { path = folder + Self.name }

    /// What the file says; no restriction if there is none.
    ///
    /// - Throws: ``ServerError/Code/dataFolder`` with what is wrong in it.
    package func read() throws(ServerError) -> DatabaseRestriction {
        guard access(path, F_OK) == 0 else { return DatabaseRestriction() }
        guard let bytes = FileManager.default.contents(atPath: path) else {
            throw failure("it cannot be read; let this user read it")
        }
        do throws(DatabaseRestriction.Problem) {
            return try DatabaseRestriction(String(decoding: bytes, as: UTF8.self))
        } catch { throw failure("\(error.message); 'sluice databases restrict' writes it anew") }
    }

    /// Changes what the file says, after every other change and before the next.
    ///
    /// - Parameter isAnew: whether the former content does not matter, so that it may be damaged.
    @discardableResult
    package func change(
        isAnew: Bool = false, _ body: (inout DatabaseRestriction) -> Void
    ) throws(ServerError) -> DatabaseRestriction {
        let lock: FileLock
        do { lock = try FileLock(at: path + "-lock") } catch {
            throw failure(
                error.code == EWOULDBLOCK
                    ? "another program changes it at the moment; try again" : String(cString: strerror(error.code)))
        }
        defer { withExtendedLifetime(lock) {} }
        var restriction = isAnew ? (try? read()) ?? DatabaseRestriction() : try read()
        body(&restriction)
        try write(restriction.text)
        return restriction
    }

    /// Writes the file whole, or not at all.
    private func write(_ text: String) throws(ServerError) {
        let draft = path + "-new"
        let file = open(draft, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw failure(String(cString: strerror(errno)).lowercased()) }
        FileOwner.adopt(draft)
        defer { close(file) }
        var text = text
        let isWritten = text.withUTF8 { Glibc.write(file, $0.baseAddress, $0.count) == $0.count }
        guard isWritten, fsync(file) == 0, rename(draft, path) == 0 else {
            let code = errno
            unlink(draft)
            throw failure(String(cString: strerror(code)).lowercased())
        }
    }

    /// What tells one state of the file from another, without reading it.
    var mark: String {
        var status = stat()
        guard stat(path, &status) == 0 else { return "" }
        return "\(status.st_ino) \(status.st_size) \(status.st_mtim.tv_sec) \(status.st_mtim.tv_nsec)"
    }

    private func failure(_ reason: String) -> ServerError {
        ServerError(.dataFolder, "the file '\(path)' cannot be used: \(reason)")
    }
}
