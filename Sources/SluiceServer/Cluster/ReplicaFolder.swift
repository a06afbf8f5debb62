internal import Glibc
internal import SluiceModel
internal import SluiceStorage

/// Says of which cluster the databases of a data folder are replicas: the file `server.cluster` has the cluster's id. So
/// nobody serves a replica as if it were the database, or a database as if it were a replica.
enum ReplicaFolder {
    private static let name = "/server.cluster"

    /// Checks that the folder belongs to a cluster, or to none, and names the cluster in a folder without databases.
    ///
    /// - Parameters:
    ///   - path: the data folder, which is locked.
    ///   - cluster: the id of the cluster whose journals the server uses; nil if each database has its own.
    /// - Throws: ``ServerError/Code/dataFolder`` with what would be right.
    static func claim(_ path: String, for cluster: String?) throws(ServerError) {
        switch (try marked(path), cluster) {
        case (nil, nil): return
        case (let marked?, let cluster?) where marked == cluster: return
        case (_?, nil):
            throw refusal(
                path, "has replicas of a cluster, which may lack what other nodes have written",
                "start the server with --journal=URL, or name another folder")
        case (_?, _?):
            throw refusal(
                path, "has replicas of another cluster than the one that the journal has",
                "name another folder, or the journal of that cluster")
        case (nil, let cluster?):
            guard DataFolder.databaseCount(path) == 0 else {
                throw refusal(
                    path, "has databases that are no replicas",
                    "name an empty folder; 'sluice export' and 'sluice import' bring objects into the cluster")
            }
            try mark(path, cluster)
        }
    }

    /// The cluster that the folder names; nil for none.
    private static func marked(_ path: String) throws(ServerError) -> String? {
        let file = open(path + name, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else {
            if errno == ENOENT { return nil }
            throw refusal(path, "has a file server.cluster that cannot be read", "let this user read it")
        }
        defer { close(file) }
        var bytes = [UInt8](repeating: 0, count: 128)
        let count = max(0, read(file, &bytes, bytes.count))
        let text = String(decoding: bytes[..<count].prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
        guard Hexadecimal.decode(text)?.count == 16 else {
            throw refusal(
                path, "has a file server.cluster that names no cluster",
                "move the folder away, and start with an empty one")
        }
        return text
    }

    /// Names the cluster in the folder, durably, before there is a replica in it.
    private static func mark(_ path: String, _ cluster: String) throws(ServerError) {
        let text = Array((cluster + "\n").utf8)
        let draft = path + name + "-new"
        unlink(draft)
        let file = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        let isWritten = file >= 0 && write(file, text, text.count) == text.count && fsync(file) == 0
        if file >= 0 { close(file) }
        guard isWritten, rename(draft, path + name) == 0 else {
            unlink(draft)
            throw refusal(path, "cannot be marked as one of a cluster", "let this user write there, or free some space")
        }
        let folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        if folder >= 0 {
            fsync(folder)
            close(folder)
        }
    }

    private static func refusal(_ path: String, _ what: String, _ remedy: String) -> ServerError {
        ServerError(.dataFolder, "the data folder '\(path)' \(what); \(remedy)")
    }
}
