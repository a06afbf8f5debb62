internal import Glibc
internal import SluiceStorage
internal import Synchronization

/// A folder that a server fills with backups, or with its archive: a file in it names the server's data folder, and is
/// locked while the server runs. So no two servers mix what they have there.
final class OwnedFolder: Sendable {
    private static let byteCountMax = 8_192

    let path: String
    private let lock: Mutex<FileLock?>

    /// Makes the folder if it is missing, and takes it.
    ///
    /// - Parameters:
    ///   - path: the folder.
    ///   - what: what it is for, which is the name of the file too: `backups` or `archive`.
    ///   - dataFolder: the folder of the databases.
    /// - Throws: ``ServerError/Code/backups`` if another server has it, or it cannot be used.
    init(_ path: String, for what: String, of dataFolder: String) throws(ServerError) {
        self.path = path
        func refusal(_ reason: String) -> ServerError {
            ServerError(.backups, "the folder '\(path)' of the \(what) \(reason)")
        }
        guard FilePath.canonical(path) != FilePath.canonical(dataFolder) else {
            throw refusal("is that of the data; name another, on another disk if there is one")
        }
        guard mkdir(path, 0o700) == 0 || errno == EEXIST else {
            throw refusal("cannot be made: \(String(cString: strerror(errno))); make it, or name another")
        }
        let mark = "\(path)/\(what).owner"
        do throws(FileLock.Failure) { lock = Mutex(try FileLock(at: mark)) } catch {
            guard error.code == EWOULDBLOCK else {
                throw refusal("cannot be used: \(String(cString: strerror(error.code))); let this user write there")
            }
            let owner = Self.owner(mark).map { ", with the data folder '\($0)'" } ?? ""
            throw refusal("is used by a server that runs\(owner); name another folder for this one")
        }
        let own = FilePath.canonical(dataFolder)
        switch Self.owner(mark) {
        case own?: return
        case let other?:
            throw refusal(
                "belongs to the server with the data folder '\(other)'; name another folder, or remove '\(mark)' if this "
                    + "server is to go on with it")
        case nil: break
        }
        let text = Array((own + "\n").utf8)
        let file = open(mark, O_WRONLY | O_CLOEXEC)
        defer { if file >= 0 { close(file) } }
        guard file >= 0, write(file, text, text.count) == text.count, fsync(file) == 0 else {
            throw refusal("cannot be written: \(String(cString: strerror(errno))); free some space, or name another")
        }
    }

    /// The data folder that a mark names; nil if it names none.
    private static func owner(_ mark: String) -> String? {
        let file = open(mark, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return nil }
        defer { close(file) }
        var bytes = [UInt8](repeating: 0, count: byteCountMax)
        let count = max(0, read(file, &bytes, bytes.count))
        // A mark that was not written to its end names nobody.
        guard let end = bytes[..<count].firstIndex(of: UInt8(ascii: "\n")), end > 0 else { return nil }
        return String(decoding: bytes[..<end], as: UTF8.self)
    }

    /// Whether the folder is still the one that was taken.
    var isInPlace: Bool { lock.withLock { $0?.isInPlace ?? false } }

    /// Leaves the folder to others.
    func release() { lock.withLock { $0 = nil } }
}
