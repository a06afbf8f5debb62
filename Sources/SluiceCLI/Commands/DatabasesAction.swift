internal import SluiceExchange
internal import SluiceJSON
internal import SluiceServer
internal import SluiceStorage

/// What `sluice databases` does, with all that it needs for that.
enum DatabasesAction: Sendable {
    case list(OutputFormat)
    case restrict(DatabaseRestriction)
    case delete(String, isForced: Bool)

    /// How long a server is waited for that is to close a database.
    private static let patience = Duration.seconds(15)

    func run(in folder: DatabaseFolder, _ audit: AuditFile?) async throws {
        do {
            switch self {
            case .list(let format): try await Self.list(folder, format)
            case .restrict(let restriction): try Self.restrict(folder, to: restriction, audit)
            case .delete(let name, let isForced): try await Self.delete(name, in: folder, isForced, audit)
            }
        } catch let error as ServerError { throw CommandError.failure(error.message) }
    }

    // MARK: Listing

    /// How long to wait for the server's answer. The server answers without asking its databases.
    private static let statePatience = Duration.seconds(5)

    private static func list(_ folder: DatabaseFolder, _ format: OutputFormat) async throws {
        let states = await DatabaseStates.ask(serverAt: folder.path, patience: statePatience)
        let names = Set(folder.names)
        var failureCount = 0
        // One whose files are gone is none of the folder, and the server knows that it could not be opened.
        for name in names.union(states.failedNames).sorted() {
            let state = states.state(of: name)
            var (glance, failure) = (DatabaseGlance?.none, StorageError?.none)
            do { glance = try names.contains(name) ? folder.glance(name) : nil } catch let error as StorageError {
                failure = error
            }
            if failure == nil || state != nil {
                StandardOutput.shared.write(
                    line: format == .jsonl ? Self.json(name, state, glance) : Self.line(name, state, glance))
            }
            guard let failure else { continue }
            failureCount += 1
            Diagnostics.report("\(name): \(failure.message)")
        }
        let restriction = try folder.restriction.read()
        if restriction != DatabaseRestriction() {
            Diagnostics.report("clients may open: \(restriction.summary)")
        }
        if failureCount > 0 {
            throw CommandError.failure("\(GroupedNumber.text(failureCount, "database")) cannot be read")
        }
    }

    /// - Parameters:
    ///   - state: as the server says it; nil if none was asked.
    ///   - glance: nil if the file could not be read.
    static func line(_ name: String, _ state: String?, _ glance: DatabaseGlance?) -> String {
        func count(_ count: Int, _ one: String, _ many: String) -> String { GroupedNumber.text(count, one, many) }
        let state = state ?? "not served"
        guard let glance else { return "\(name)\t\(state)" }
        return [
            name, state, "\((glance.byteCount + 1023) / 1024) KiB", "version \(glance.version)",
            glance.rulesVersion == 0 ? "no rules" : "rules \(glance.rulesVersion)",
            count(glance.classCount, "class", "classes"), count(glance.objectCount, "object", "objects"),
        ].joined(separator: "\t")
    }

    static func json(_ name: String, _ state: String?, _ glance: DatabaseGlance?) -> String {
        var members = [JSONValue.Member(name: "name", value: .string(name))]
        members.append(.init(name: "state", value: state.map { .string($0) } ?? .null))
        if let glance {
            members += [
                .init(name: "bytes", value: .integer(Int64(glance.byteCount))),
                .init(name: "version", value: .integer(Int64(clamping: glance.version))),
                .init(name: "rules", value: .integer(Int64(glance.rulesVersion))),
                .init(name: "classes", value: .integer(Int64(glance.classCount))),
                .init(name: "objects", value: .integer(Int64(glance.objectCount))),
            ]
        }
        return JSONValue.object(members).text
    }

    // MARK: Restricting

    private static func restrict(
        _ folder: DatabaseFolder, to restriction: DatabaseRestriction, _ audit: AuditFile?
    ) throws {
        guard restriction.allowsNew || !folder.isOfCluster else {
            throw CommandError.failure(
                "'\(folder.path)' is the folder of a node of a cluster, whose databases are made at any node; name those "
                    + "that clients may open with --only")
        }
        let stored = try folder.restriction.change(isAnew: true) { former in
            var restriction = restriction
            restriction.closed = former.closed
            former = restriction
        }
        audit?.note(.databasesRestricted(to: stored.summary))
        Diagnostics.report("clients may open: \(stored.summary)")
        guard let names = stored.names, !folder.isOfCluster else { return }
        let known = folder.names
        for name in names.subtracting(known).sorted() {
            let hint = DatabaseName.hint(for: name, among: known)
            Diagnostics.report("note: the data folder has no database '\(name)' yet; \(hint)")
        }
    }

    // MARK: Deleting

    private static func delete(
        _ name: String, in folder: DatabaseFolder, _ isForced: Bool, _ audit: AuditFile?
    ) async throws {
        guard !folder.isOfCluster else {
            throw CommandError.failure(
                "'\(folder.path)' is the folder of a node of a cluster, which keeps its databases in its PostgreSQL; a "
                    + "node deletes none")
        }
        let isThere: Bool
        do { isThere = try folder.remove(name) } catch let error as StorageError where error.code == .locked {
            guard isForced else {
                throw CommandError.failure(
                    "the server has the database '\(name)' open, so nothing was deleted; it closes one that nobody uses "
                        + "after a minute, and --force ends its sessions")
            }
            isThere = try await deleteOpen(name, in: folder)
        }
        guard isThere else {
            let hint = DatabaseName.hint(for: name, among: folder.names)
            throw CommandError.failure("the data folder '\(folder.path)' has no database '\(name)'; \(hint)")
        }
        audit?.note(.databaseDeleted, database: name)
        Diagnostics.report("the database '\(name)' is deleted")
    }

    /// Deletes a database once the server that has it open has closed it.
    private static func deleteOpen(_ name: String, in folder: DatabaseFolder) async throws -> Bool {
        try folder.restriction.change { $0.closed.insert(name) }
        defer { _ = try? folder.restriction.change { $0.closed.remove(name) } }
        let clock = ContinuousClock()
        let end = clock.now + patience
        while true {
            do { return try folder.remove(name) } catch let error as StorageError where error.code == .locked {
                guard clock.now < end else {
                    throw CommandError.failure(
                        "the database '\(name)' was not closed within \(patience / .seconds(1)) s, so nothing was deleted; "
                            + "stop what has it open")
                }
                try await Task.sleep(for: .milliseconds(100))
            }
        }
    }
}
