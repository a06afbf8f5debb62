internal import Dispatch
internal import SluiceModel
internal import SluiceStorage
internal import SluiceWire

/// A database of a server, as an operator sees it.
public struct DatabaseSummary: Sendable, Hashable {
    /// The database's name.
    public let name: String
    /// How many transactions it has taken.
    public let version: UInt64
    /// How often rules were stored in it; 0 for a database without rules.
    public let rulesVersion: Int
    /// How many classes it has.
    public let classCount: Int
    /// How many objects it has.
    public let objectCount: Int
    /// The size of its file and the write-ahead log, in bytes.
    public let byteCount: Int
}

extension SyncServer {
    /// The names of the databases that have files, sorted; of a server in memory, those that are open.
    public var databaseNames: [String] {
        guard let folder = dataFolder else { return databases.workers.filter(\.isOpen).map(\.name).sorted() }
        return DataFolder.databaseNames(folder).filter(DatabaseName.isValid)
    }

    /// What a database has that has a file. Objects are counted, one by one.
    ///
    /// - Throws: ``ServerError/Code/database`` if there is no such file, or it cannot be read.
    public func databaseSummary(_ name: String) async throws -> DatabaseSummary {
        guard let folder = dataFolder, DatabaseName.isValid(name) else {
            throw ServerError(.database, "there is no file of a database '\(name)'")
        }
        return try await onThread {
            let glance: DatabaseGlance
            do { glance = try DatabaseFolder(folder).glance(name) } catch {
                throw ServerError(.database, "the database '\(name)' cannot be read: \(error)", cause: error)
            }
            return DatabaseSummary(
                name: name, version: glance.version, rulesVersion: glance.rulesVersion, classCount: glance.classCount,
                objectCount: glance.objectCount, byteCount: glance.byteCount)
        }
    }

    /// Which databases clients may open: what `sluice databases restrict` or ``restrictDatabases(to:)`` said last.
    public var databaseRestriction: DatabaseRestriction { gate.restriction }

    /// Says which databases clients may open from now on, also after the next start if there is a data folder. Sessions of
    /// others are ended.
    ///
    /// - Throws: ``ServerError`` if that cannot be stored.
    public func restrictDatabases(to restriction: DatabaseRestriction) throws {
        guard restriction.allowsNew || !isNode else {
            throw ServerError(
                .invalidConfiguration,
                "the databases of a cluster are made at any of its nodes, so this one cannot know which are new; name "
                    + "those that clients may open")
        }
        try gate.restrict(to: restriction, existing: databaseNames)
        heedRestriction(of: User.serverID)
    }

    /// Ends the sessions of the databases that clients may no longer open.
    ///
    /// - Parameter user: who has changed them; nil if that is not known.
    func heedRestriction(of user: String?) {
        if let summary = gate.takeNews() {
            log?(.info, "clients may open other databases", [("databases", summary)])
            audit?.note(.databasesRestricted(to: summary), user: user)
        }
        for worker in databases.workers {
            guard let refusal = gate.refusal(of: worker.name, isOpen: { true }) else { continue }
            databases.shut(
                worker,
                because: SessionEnd(.unknownDatabase, refusal.message, action: refusal.isPassing ? .retry : .stop),
                by: user
            ) { _ in }
        }
    }

    /// Deletes a database: all of it, or nothing. Stores that come back find another one of the name, or none.
    ///
    /// - Parameters:
    ///   - name: the database's name.
    ///   - endsSessions: whether it is deleted also while somebody has a session or observes it.
    /// - Throws: ``ServerError/Code/inUse`` if somebody uses it; ``ServerError`` if there is none, or if it cannot be
    ///   deleted.
    public func deleteDatabase(_ name: String, endsSessions: Bool = false) async throws {
        guard DatabaseName.isValid(name) else {
            throw ServerError(.database, "'\(name)' is no name of a database")
        }
        guard !isNode else {
            throw ServerError(
                .invalidConfiguration, "the database '\(name)' is a cluster's, of which a node deletes none")
        }
        guard gate.close(name) else {
            throw ServerError(.inUse, "the database '\(name)' is being deleted already")
        }
        defer { gate.reopen(name) }
        let end = SessionEnd(.unknownDatabase, "the database '\(name)' was deleted", action: .retry)
        let wasOpen = databases.known(name)?.isOpen ?? false
        if let worker = databases.known(name) {
            let isShut = await withCheckedContinuation { continuation in
                databases.shut(worker, because: end, by: User.serverID, isForced: endsSessions) {
                    continuation.resume(returning: $0)
                }
            }
            guard isShut else {
                throw ServerError(.inUse, "the database '\(name)' has sessions; end them, or delete it all the same")
            }
        }
        var isThere = wasOpen
        if let folder = dataFolder {
            isThere = try await onThread {
                do { return try DatabaseRemoval.remove(DatabaseFolder(folder).file(of: name)) } catch {
                    throw ServerError(.database, "the database '\(name)' cannot be deleted: \(error)", cause: error)
                }
            }
        }
        guard isThere else { throw ServerError(.database, "there is no database '\(name)'") }
        gate.forget(name)
        log?(.info, "a database was deleted", [("database", name)])
        audit?.note(.databaseDeleted, user: User.serverID, database: name)
    }

    /// Runs what blocks on a thread that may block.
    private func onThread<Result: Sendable>(_ body: @escaping @Sendable () throws -> Result) async throws -> Result {
        try await withCheckedThrowingContinuation { continuation in
            DispatchQueue.global().async { continuation.resume(with: Swift.Result { try body() }) }
        }
    }
}
