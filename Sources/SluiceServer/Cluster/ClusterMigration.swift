internal import Glibc
internal import SluiceModel
package import SluiceStorage

/// Brings the databases of a server alone into a cluster, and back. The server does not run meanwhile.
package struct ClusterMigration {
    /// What was brought over.
    package enum Moved: Sendable {
        /// A database, with its last group.
        case database(String, position: UInt64)
        /// A database that stays where it was detached to before.
        case elsewhere(String, place: String)
        /// Users, and those who stay as the target had them.
        case users([String], known: [String])
        /// The users as they were when the folder was adopted.
        case usersOfAdoption
    }

    private let path: String
    /// Locked, so that no server runs there.
    private let folder: DataFolder

    /// - Parameter path: the data folder of a server.
    /// - Throws: ``ServerError/Code/dataFolder`` if there is no such folder, or a server uses it.
    package init(_ path: String) throws {
        guard access(path, F_OK) == 0 else {
            throw ServerError(.dataFolder, "the data folder '\(path)' does not exist; name that of the server")
        }
        folder = try DataFolder(path)
        self.path = path
    }

    // MARK: Into a cluster

    /// Makes all databases and users of the folder the cluster's, and the folder that of a node. What was brought over
    /// before an error stays, and is left out when this is done again. O(n).
    ///
    /// - Parameter report: called after each database.
    /// - Throws: ``ServerError``; ``StorageError``.
    package func adopt(into service: any JournalService, report: (Moved) -> Void) throws {
        let cluster = try service.clusterID
        switch try ReplicaFolder.marked(path) {
        case nil: break
        case let mark? where mark.cluster != cluster:
            throw refusal("has replicas of another cluster", "detach it from that one first")
        case let mark? where !mark.isAdopting: throw refusal("is a node's of this cluster already", "start the node")
        case _?: break
        }
        let names = DataFolder.databaseNames(path)
        guard !names.isEmpty else {
            throw refusal("has no databases", "start a node with it; there is nothing to adopt")
        }
        // All are looked at before the first is touched.
        for name in names { try checkAdoptable(name, service) }
        try ReplicaFolder.mark(path, ReplicaFolder.Mark(cluster: cluster, isAdopting: true))
        for name in names { report(.database(name, position: try adopt(name, into: service).position)) }
        if let moved = try adoptUsers(into: service) { report(moved) }
        try ReplicaFolder.mark(path, ReplicaFolder.Mark(cluster: cluster))
    }

    /// Checks that the cluster does not have another database of the name.
    private func checkAdoptable(_ name: String, _ service: any JournalService) throws {
        let storage = try SQLiteServerStorage.open(.file(file(name)), databaseID: ObjectID(high: 0, low: 0))
        let (id, damage) = (storage.databaseID, storage.damage ?? storage.obstacle)
        storage.close()
        if let damage { throw damage }
        do {
            guard try service.existingJournal(ofDatabase: name).databaseID != id else { return }
        } catch let error as StorageError where error.code == .notFound { return }
        throw StorageError(
            .exists,
            "the cluster has another database '\(name)', so nothing was adopted; move \(file(name)) and what belongs to "
                + "it away, or export and import its objects under another name")
    }

    /// Brings the users into the cluster, and gives their file another name.
    private func adoptUsers(into service: any JournalService) throws -> Moved? {
        let users = path + "/" + UserFile.name
        guard access(users, F_OK) == 0 else { return nil }
        let file = try UserFile(users)
        defer { file.close() }
        let (copied, known) = try UserTransfer.copy(from: file, to: service.users)
        try rename(users, to: users + "-adopted")
        return .users(copied, known: known)
    }

    /// Brings the users of the cluster into a folder. Those whom a server alone has there stay as they are; a file of
    /// users in the node's own folder was not used, and gets another name.
    ///
    /// - Parameter target: the folder; nil for the node's own.
    /// - Returns: nil if the cluster has none.
    private func detachUsers(from service: any JournalService, to target: String?) throws -> Moved? {
        let users = (target ?? path) + "/" + UserFile.name
        if target == nil, access(users, F_OK) == 0 { try rename(users, to: users + "-before") }
        guard try !service.users.read({ try $0.users().isEmpty && $0.allDates().isEmpty }) else { return nil }
        let file = try UserFile(users)
        defer { file.close() }
        let (copied, known) = try UserTransfer.copy(from: service.users, to: file)
        return .users(copied, known: known)
    }

    private func rename(_ old: String, to new: String) throws {
        guard Glibc.rename(old, new) == 0 else {
            throw refusal("has a file \(old) that cannot be renamed", "let this user write there")
        }
    }

    private func adopt(_ name: String, into service: any JournalService) throws -> JournalHead {
        let storage = try SQLiteServerStorage.open(.file(file(name)), databaseID: ObjectID(high: 0, low: 0))
        defer { storage.close() }
        if let damage = storage.damage ?? storage.obstacle { throw damage }
        let copy = file(name) + "-snapshot"
        defer { ReplicaFile.remove(copy) }
        let head = try ReplicaFile.copy(file(name), to: copy)
        do { try service.adopt(name, id: storage.databaseID, at: head, file: copy) } catch let error as StorageError
            where error.code == .exists
        {
            // Perhaps an attempt before this one has brought it over.
            let journal = try service.existingJournal(ofDatabase: name)
            guard try journal.databaseID == storage.databaseID, try journal.continues(head) else { throw error }
        }
        return head
    }

    // MARK: Out of a cluster

    /// Makes databases of the cluster those of a server alone, with a copy of the cluster's users: their journals are
    /// sealed, so that no node appends to them any more, and their files have all that the journals had. No journal is
    /// sealed before all databases are known to be there and to have a place. What was done before an error stays, and is
    /// left out when this is done again into the same folder. What was detached into another folder goes on there: it is
    /// refused by its name, and left out of all. O(n).
    ///
    /// - Parameters:
    ///   - names: the databases; nil for all of the cluster, after which the folder is a server's alone.
    ///   - target: the folder where the files go; nil for the node's own, which needs all databases.
    ///   - isMovedAgain: whether also databases are meant that were detached into another folder, where they are lost.
    ///   - report: called after each database.
    /// - Throws: ``ServerError``; ``StorageError``.
    package func detach(
        _ names: [String]?, to target: String?, isMovedAgain: Bool = false, from service: any JournalService,
        report: (Moved) -> Void
    ) throws {
        let cluster = try service.clusterID
        guard try ReplicaFolder.marked(path) == ReplicaFolder.Mark(cluster: cluster) else {
            throw refusal("is none of a node of this cluster", "name that of a node, or the journal of its cluster")
        }
        let place = try openPlace(names, target)
        defer { withExtendedLifetime(place) {} }
        let here = Self.name(ofPlace: target ?? path)
        var (moved, elsewhere): ([String], [(name: String, place: String)]) = ([], [])
        for name in try names ?? service.databaseNames {
            let journal = try service.existingJournal(ofDatabase: name)
            if !isMovedAgain, let place = try service.placeOfSealed(name), place != here {
                guard names == nil else { throw Self.refusal(ofSealed: name, place) }
                elsewhere.append((name, place))
                continue
            }
            if let target { try checkFree(name, in: target, but: journal) }
            moved.append(name)
        }
        if moved.isEmpty, let first = elsewhere.first { throw Self.refusal(ofSealed: first.name, first.place) }
        for (name, place) in elsewhere {
            // Nobody shall serve the replica as if it were the database.
            if target == nil, SQLiteServerStorage.isTaken(file(name)) {
                _ = try SQLiteServerStorage.setAside(file(name))
            }
            report(.elsewhere(name, place: place))
        }
        for name in moved {
            let head = try bringUp(name, service, for: here, isMovedAgain: isMovedAgain)
            if let target { try copy(name, to: target) }
            report(.database(name, position: head.position))
        }
        if let moved = try detachUsers(from: service, to: target) { report(moved) }
        if target == nil { try ReplicaFolder.release(path) }
    }

    /// Makes the folder of a node that of a server alone, from its replicas as they are: for the case that the journals
    /// are lost. What the node had not followed is missing.
    ///
    /// - Parameters:
    ///   - names: see ``detach(_:to:from:report:)``.
    ///   - target: see ``detach(_:to:from:report:)``.
    package func detachOffline(_ names: [String]?, to target: String?, report: (Moved) -> Void) throws {
        guard try ReplicaFolder.marked(path) != nil else {
            throw refusal("is none of a cluster's node", "start a server with it as it is")
        }
        let place = try openPlace(names, target)
        defer { withExtendedLifetime(place) {} }
        let names = names ?? DataFolder.databaseNames(path)
        for name in names {
            guard SQLiteServerStorage.isTaken(file(name)) else {
                let hint = DatabaseName.hint(for: name, among: DataFolder.databaseNames(path))
                throw refusal("has no database '\(name)'", hint)
            }
            if let target { try checkFree(name, in: target, but: nil) }
        }
        for name in names {
            let storage = try SQLiteServerStorage.open(.file(file(name)), databaseID: ObjectID(high: 0, low: 0))
            let (head, damage) = (storage.head, storage.damage)
            storage.close()
            if let damage { throw damage }
            if let target { try copy(name, to: target) }
            report(.database(name, position: head.position))
        }
        let users = path + "/" + UserFile.name
        let restored = (target ?? path) + "/" + UserFile.name
        if access(users + "-adopted", F_OK) == 0, access(restored, F_OK) != 0 {
            if target == nil {
                try rename(users + "-adopted", to: users)
            } else {
                let (file, copy) = (try UserFile(users + "-adopted"), try UserFile(restored))
                defer { for file in [file, copy] { file.close() } }
                _ = try UserTransfer.copy(from: file, to: copy)
            }
            report(.usersOfAdoption)
        }
        if target == nil { try ReplicaFolder.release(path) }
    }

    /// The folder where databases shall go, made if it is missing, and locked so that no server runs there.
    ///
    /// - Returns: nil for the node's own.
    private func openPlace(_ names: [String]?, _ target: String?) throws -> DataFolder? {
        guard let target else {
            guard names == nil else {
                throw refusal(
                    "is a node's as a whole, so a part of it cannot be detached in place",
                    "name a folder for the files")
            }
            return nil
        }
        let folder = try DataFolder(target)
        guard try ReplicaFolder.marked(target) == nil else {
            throw ServerError(
                .dataFolder,
                "the data folder '\(target)' is a node's, and what is detached is a server's alone; name another folder"
            )
        }
        return folder
    }

    /// Checks that nothing in a folder is in the way of a database.
    ///
    /// - Parameter journal: of the database, the end of which a file may have that was detached before; nil for none.
    private func checkFree(_ name: String, in target: String, but journal: (any Journal)?) throws {
        let destination = target + "/" + DatabaseFileName.of(name)
        guard SQLiteServerStorage.isTaken(destination) else { return }
        if let journal, let there = try? ReplicaFile.state(of: destination), there.id == (try journal.databaseID),
            try journal.continues(there.head),
            try journal.records(after: there.head.position, countMax: 1).isEmpty
        {
            return
        }
        throw StorageError(
            .exists,
            "the folder '\(target)' has another database '\(name)', so nothing was detached; move \(destination) and "
                + "what belongs to it away, or name another folder")
    }

    /// A folder of this machine, as the people of a cluster know it.
    private static func name(ofPlace path: String) -> String {
        var host = [CChar](repeating: 0, count: 256)
        gethostname(&host, host.count - 1)
        let resolved = realpath(path, nil)
        defer { free(resolved) }
        let machine = String(decoding: host.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return "\(machine):\(resolved.map { String(cString: $0) } ?? path)"
    }

    private static func refusal(ofSealed name: String, _ place: String) -> StorageError {
        StorageError(
            .detached,
            "the database '\(name)' was detached before, into \(place), so nothing was detached: a second copy would be "
                + "another history of the same database. Serve that folder; name it to finish an attempt that did not end; "
                + "adopt it to bring the database back; or, if it is lost, say --again")
    }

    /// Brings the replica of a database to the end of its journal, which is sealed.
    private func bringUp(
        _ name: String, _ service: any JournalService, for place: String, isMovedAgain: Bool
    ) throws -> JournalHead {
        let journal = try service.existingJournal(ofDatabase: name)
        let loader = ReplicaLoader(service.snapshots, policy: ReplicaPolicy(), log: nil)
        if !SQLiteServerStorage.isTaken(file(name)), try loader.reason(position: 0, ofDatabase: name) != nil {
            try loader.load(name, into: file(name))
        }
        var replica = try SQLiteServerStorage.open(.file(file(name)), databaseID: journal.databaseID)
        defer { replica.close() }
        if let damage = replica.damage { throw damage }
        guard replica.databaseID == (try journal.databaseID), try journal.continues(replica.head) else {
            throw refusal(
                "has a replica of '\(name)' with another history than the journal",
                "remove \(DatabaseFileName.of(name)) there; it is made anew")
        }
        if try loader.reason(position: replica.head.position, ofDatabase: name) != nil {
            replica.close()
            _ = try SQLiteServerStorage.setAside(file(name))
            try loader.load(name, into: file(name))
            replica = try SQLiteServerStorage.open(.file(file(name)), databaseID: journal.databaseID)
        }
        // Most of it before the end, so that nodes go on as long as possible.
        try ReplicaFile.follow(journal, replica)
        let head = try service.seal(name, for: place, isMovedAgain: isMovedAgain)
        try ReplicaFile.follow(journal, replica)
        guard replica.head == head else {
            throw StorageError(
                .journal,
                "the replica of '\(name)' ends with group \(replica.head.position), and the journal with "
                    + "\(head.position)")
        }
        return head
    }

    private func copy(_ name: String, to target: String) throws {
        let destination = target + "/" + DatabaseFileName.of(name)
        // It is there since an attempt before this one.
        guard !SQLiteServerStorage.isTaken(destination) else { return }
        try ReplicaFile.receive(destination) { draft in _ = try ReplicaFile.copy(file(name), to: draft) }
    }

    private func file(_ name: String) -> String { path + "/" + DatabaseFileName.of(name) }

    private func refusal(_ what: String, _ remedy: String) -> ServerError {
        ServerError(.dataFolder, "the data folder '\(path)' \(what); \(remedy)")
    }
}
