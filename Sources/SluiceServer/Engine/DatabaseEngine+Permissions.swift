internal import SluiceModel
internal import SluiceQuery
package import SluiceRules
internal import SluiceStorage
internal import SluiceViews
internal import SluiceWire

/// The rules that hold, and the sessions that they bind.
extension DatabaseEngine {
    /// Lets the rules judge what is uploaded.
    func judgeWrites() {
        committer.authority = permissions.judgesWrites ? { [unowned self] in permissions.binding(of: $0) } : nil
    }

    /// The rules that the database has; nil if it has none.
    ///
    /// Rules that this version cannot read let nobody do anything.
    func storedRules() -> AccessRules? {
        do {
            let version = try database.storage.rulesVersion
            guard version > 0, let bytes = try database.storage.rules(ofVersion: version) else { return nil }
            return AccessRules(try RulesFile(bytes))
        } catch {
            database.noteFailure("the rules could not be read; nobody may do anything", error)
            return .denial
        }
    }

    /// Lets the rules that the database has hold, if it has any. Call it when an existing database is opened.
    package func loadRules() {
        if let rules = storedRules() { hold(rules) }
    }

    /// Lets the rules hold that the server was started with, and stores them. Where others were stored after them, as
    /// `sluice rules deploy` does, those hold: a server that is started again with its old file undoes nothing.
    ///
    /// - Parameters:
    ///   - isWritable: whether the database can be written; if not, nothing is stored.
    ///   - isChange: whether the file has changed while the server runs. Then it is the latest that was said, also if it is
    ///     as it was at some time.
    package func begin(with rules: RulesFile?, isWritable: Bool, isChange: Bool = false) throws {
        configuredRules = rules
        guard let rules else { return loadRules() }
        if !isChange, isSuperseded(rules) {
            database.note(
                .warning, "the database has other rules, which were stored after those of the server's file; they hold")
            return loadRules()
        }
        if isWritable { try deploy(rules) }
    }

    /// Takes over what holds for the databases of the server from now on.
    ///
    /// - Parameters:
    ///   - rules: the server's rules; nil if they have not changed.
    ///   - limits: the limits, with the quotas.
    ///   - isFile: whether the database is in a file, where it is to keep the rules.
    func takeOver(_ rules: RulesFile?, _ limits: DatabaseLimits, isFile: Bool) {
        do {
            try database.setLimits(limits)
            guard let rules else { return }
            let isStored = isFile && materialize == nil && isWritable
            try begin(with: rules, isWritable: isStored, isChange: true)
            // A database that has no file yet gets them with it.
            if !isStored { hold(AccessRules(rules)) }
        } catch {
            database.noteFailure("the server's rules and quotas could not be taken over", error)
        }
    }

    /// Whether a file of rules was stored before the one that holds. What cannot be read counts as stored later.
    private func isSuperseded(_ file: RulesFile) -> Bool {
        do {
            let last = try database.storage.rulesVersion
            let bytes = file.canonicalBytes
            guard last > 1, try !database.storage.rules(ofVersion: last, are: bytes) else { return false }
            return try (1..<last).contains { try database.storage.rules(ofVersion: $0, are: bytes) }
        } catch {
            database.noteFailure("the versions of the rules could not be read", error)
            return true
        }
    }

    /// Lets rules hold from now on.
    func hold(_ rules: AccessRules?) {
        let hadRules = permissions.hasRules
        // Jobs of this process have no session.
        rightsNumber += 1
        switchContexts(permissions.deploy(rules))
        judgeWrites()
        // Sessions were not bound before there were rules.
        if hadRules != permissions.hasRules {
            endAll(.init(.permissionDenied, "the database's rules have changed", action: .retry))
        }
    }

    /// Stores other rules, which hold from now on. Rules that the database has already change nothing.
    ///
    /// - Returns: the version of the rules, and whether it is new.
    @discardableResult
    package func deploy(_ file: RulesFile) throws -> (version: Int, isNew: Bool) {
        let stored = try store(file)
        if stored.isNew {
            note(.rulesDeployed(version: stored.version, former: stored.version - 1), in: nil, user: User.serverID)
            let problems = file.problems(with: database.storage.schema)
            // A database without classes gets them later.
            if !problems.isEmpty, !database.storage.schema.classes.isEmpty {
                database.note(
                    .warning, "the server's rules do not fit the classes of a database",
                    [("problems", problems.prefix(10).map(\.description).joined(separator: "; "))])
            }
            hold(AccessRules(file))
        }
        return stored
    }

    /// Stores other rules, which do not hold yet.
    func store(_ file: RulesFile) throws -> (version: Int, isNew: Bool) {
        if let version = try storedVersion(of: file) { return (version, false) }
        try database.becomeDurable()
        // The file may have come with the rules that the server was started with.
        if let version = try storedVersion(of: file) { return (version, false) }
        if try database.storage.rulesVersion == 0, let configuredRules, configuredRules != file {
            // So that it is known later which of them came first.
            try database.transaction { try database.storage.setRules(configuredRules.canonicalBytes) }
            note(.rulesDeployed(version: 1, former: 0), in: nil, user: User.serverID)
        }
        try database.transaction { try database.storage.setRules(file.canonicalBytes) }
        return (try database.storage.rulesVersion, true)
    }

    /// The version of rules if they are those that were stored last.
    private func storedVersion(of file: RulesFile) throws -> Int? {
        let version = try database.storage.rulesVersion
        guard version > 0, try database.storage.rules(ofVersion: version) == file.canonicalBytes else { return nil }
        return version
    }

    /// Checks the values of `$client` before they are kept.
    ///
    /// - Throws: ``SessionEnd`` when there are too many, or a value is none that rules could compare.
    func check(_ variables: ValueMap) throws(SessionEnd) {
        guard let problem = VariableLimits.problem(with: variables) else { return }
        throw SessionEnd(.limitExceeded, problem, action: .stop)
    }

    func mayChangeSchema(_ session: ServerSession) -> Bool {
        session.clientID != nil && permissions.mayChangeSchema(session.id, session.user)
    }

    /// Brings sessions to what holds for their users now, without a commit.
    func switchContexts(_ changes: [Permissions.Change]) {
        guard !changes.isEmpty else { return }
        rightsNumber += 1
        let storage = database.storage
        let nothing = CommittedGroup(
            delta: CommitDelta(changes: [], version: storage.version), authors: [],
            acceptedAt: storage.acceptedAt ?? Timestamp(microseconds: 0))
        publish(nothing, switching: changes)
    }
}
