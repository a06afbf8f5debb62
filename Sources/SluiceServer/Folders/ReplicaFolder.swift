internal import Glibc
internal import SluiceModel
internal import SluiceStorage

/// Says of which cluster the databases of a data folder are replicas: the file `server.cluster` has the cluster's id. So
/// nobody serves a replica as if it were the database, or a database as if it were a replica.
enum ReplicaFolder {
    private static let name = "/server.cluster"
    /// What stands behind the id while the databases of the folder are being adopted.
    private static let adopting = " adopting"

    /// What the file says.
    struct Mark: Hashable {
        var cluster: String
        /// Whether some databases may be the cluster's, and others not yet.
        var isAdopting = false
    }

    /// Checks that the folder belongs to a cluster, or to none, and names the cluster in a folder without databases.
    ///
    /// - Parameters:
    ///   - path: the data folder, which is locked.
    ///   - cluster: the id of the cluster whose journals the server uses; nil if each database has its own.
    /// - Throws: ``ServerError/Code/dataFolder`` with what would be right.
    static func claim(_ path: String, for cluster: String?) throws(ServerError) {
        switch (try marked(path), cluster) {
        case (nil, nil): return
        case (let marked?, _) where marked.isAdopting:
            throw refusal(
                path, "has databases of which only some are a cluster's, since their adoption was not finished",
                "run 'sluice cluster adopt' again")
        case (let marked?, let cluster?) where marked.cluster == cluster: return
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
                    "name an empty folder, or make them the cluster's with 'sluice cluster adopt'")
            }
            try mark(path, Mark(cluster: cluster))
        }
    }

    /// Makes the folder one of a server alone.
    static func release(_ path: String) throws(ServerError) {
        guard unlink(path + name) == 0 || errno == ENOENT else {
            throw refusal(path, "keeps its file server.cluster", "let this user remove it")
        }
    }

    /// The cluster that the folder names; nil for none.
    static func marked(_ path: String) throws(ServerError) -> Mark? {
        let file = open(path + name, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else {
            if errno == ENOENT { return nil }
            throw refusal(path, "has a file server.cluster that cannot be read", "let this user read it")
        }
        defer { close(file) }
        var bytes = [UInt8](repeating: 0, count: 128)
        let count = max(0, read(file, &bytes, bytes.count))
        var text = String(decoding: bytes[..<count].prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
        let isAdopting = text.hasSuffix(adopting)
        if isAdopting { text.removeLast(adopting.count) }
        guard Hexadecimal.decode(text)?.count == 16 else {
            throw refusal(
                path, "has a file server.cluster that names no cluster",
                "move the folder away, and start with an empty one")
        }
        return Mark(cluster: text, isAdopting: isAdopting)
    }

    /// Names the cluster in the folder, durably, before there is a replica in it.
    static func mark(_ path: String, _ mark: Mark) throws(ServerError) {
        let text = Array((mark.cluster + (mark.isAdopting ? adopting : "") + "\n").utf8)
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
