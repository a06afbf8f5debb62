internal import Glibc
internal import SluiceStorage

/// A folder for one piece of work, which is removed with all files in it when the work ends. What a killed process has
/// left of it is removed first.
final class WorkFolder {
    private static let lockName = "work.lock"

    let path: String
    private let lock: FileLock
    private var isKept = false

    /// The most processes that work side by side.
    private static let numberMax = 100

    /// Makes a folder that nobody else works in: of the name or, where others work, of the name with a number. What killed
    /// processes have left of such folders is removed.
    ///
    /// - Throws: ``StorageError`` if none can be made.
    static func any(of path: String) throws(StorageError) -> WorkFolder {
        let start = (path.split(separator: "/").last ?? "") + "-"
        for name in DataFolder.names(in: StoredFolder.parent(of: path), endingWith: "") {
            guard name.hasPrefix(start), let number = Int(name.dropFirst(start.count)), number > 0 else { continue }
            // A folder that somebody works in stays.
            _ = try? WorkFolder("\(path)-\(number)")
        }
        var number = 0
        while true {
            do { return try WorkFolder(number == 0 ? path : "\(path)-\(number)") } catch {
                guard error.code == .locked, number < numberMax else { throw error }
            }
            number += 1
        }
    }

    /// - Parameter path: the folder.
    /// - Throws: ``StorageError`` if it cannot be made, or another process works there.
    init(_ path: String) throws(StorageError) {
        self.path = path
        if mkdir(path, 0o700) != 0 {
            guard errno == EEXIST else { throw .system(errno, doing: "making this folder for the work", path: path) }
            let names = DataFolder.names(in: path, endingWith: "")
            guard names.isEmpty || names.contains(Self.lockName) else {
                throw StorageError(
                    .exists, "'\(path)', where the work would be done, has files of others; move it away")
            }
        }
        do throws(FileLock.Failure) { lock = try FileLock(at: "\(path)/\(Self.lockName)") } catch {
            // One that has ended has removed the folder meanwhile.
            guard [EWOULDBLOCK, ENOENT].contains(error.code) else {
                throw .system(error.code, doing: "locking", path: path)
            }
            throw Self.taken(path)
        }
        guard lock.isInPlace else { throw Self.taken(path) }
        for name in DataFolder.names(in: path, endingWith: "") where name != Self.lockName {
            unlink("\(path)/\(name)")
        }
    }

    private static func taken(_ path: String) -> StorageError {
        StorageError(.locked, "another process works in '\(path)'; wait for it")
    }

    deinit {
        guard !isKept else { return }
        for name in DataFolder.names(in: path, endingWith: "") { unlink("\(path)/\(name)") }
        rmdir(path)
    }

    /// Gives the folder another name, durably, under which it stays.
    ///
    /// - Parameter target: a name that nothing has, or only an empty folder.
    /// - Throws: ``StorageError``; the folder is removed then, as it is otherwise.
    func publish(as target: String) throws(StorageError) {
        try StoredFolder.synchronize(path)
        unlink("\(path)/\(Self.lockName)")
        guard rename(path, target) == 0 else {
            let code = errno
            let isTaken = code == ENOTEMPTY || code == EEXIST || code == ENOTDIR
            throw StorageError(
                isTaken ? .exists : .io,
                isTaken
                    ? "'\(target)' has got something meanwhile, and was left as it is; name another folder"
                    : "'\(target)' cannot be made: \(String(cString: strerror(code))); name a folder on the same file system"
            )
        }
        isKept = true
        try StoredFolder.synchronize(StoredFolder.parent(of: target))
    }
}
