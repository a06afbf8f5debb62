package import SluiceModel
internal import SluiceQuery
package import SluiceRules
package import SluiceStorage
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

    /// Compares the rules of the server's file with those that the database has, and lets the later ones hold: when the
    /// database is opened, and when the server has read its file again.
    ///
    /// A file says something new when it is another one than when it was compared last, also if it is as it was at some
    /// time. Then its rules are stored, and hold. A file that says nothing new leaves those that were stored after it, as
    /// `sluice rules deploy` does: a server that is started again undoes nothing.
    ///
    /// - Parameters:
    ///   - isWritable: whether the database can be written; if not, nothing is stored.
    ///   - cause: why they are compared.
    ///   - now: the time by the server's clock.
    /// - Returns: whether the rules of the file hold.
    @discardableResult
    package func begin(
        with rules: RulesFile?, isWritable: Bool, because cause: RulesOrigin.Cause = .file, now: Timestamp
    ) throws -> Bool {
        configuredRules = rules
        guard let rules else {
            loadRules()
            if permissions.hasRules {
                noteHolding(.info, "the rules that the database has hold", "the server has no file")
            }
            return false
        }
        switch standing(of: rules) {
        case .same:
            if isWritable { heed(rules) }
            noteHolding(.info, "the rules of the server's file hold", "the database has the same")
        case .news(let reason):
            if isWritable { try deploy(rules, from: origin(cause, at: now), isHeeded: true) }
            noteHolding(.info, "the rules of the server's file hold", reason)
        case .overtaken(let reason):
            if isWritable { heed(rules) }
            loadRules()
            noteHolding(
                .warning, "the database has other rules, which were stored after those of the server's file; they hold",
                reason)
            return false
        }
        return true
    }

    /// Takes over what holds for the databases of the server from now on.
    ///
    /// - Parameters:
    ///   - rules: the server's rules; nil if they have not changed.
    ///   - limits: the limits, with the quotas.
    ///   - isFile: whether the database is in a file, where it is to keep the rules.
    func takeOver(_ rules: RulesFile?, _ limits: DatabaseLimits, isFile: Bool, now: Timestamp) {
        do {
            try database.setLimits(limits)
            guard let rules else { return }
            let isStored = isFile && materialize == nil && isWritable
            let holds = try begin(with: rules, isWritable: isStored, because: .reload, now: now)
            // A database that has no file yet gets them with it.
            if holds, !isStored { hold(AccessRules(rules)) }
        } catch {
            database.noteFailure("the server's rules and quotas could not be taken over", error)
        }
    }

    /// How the rules of the server's file stand to those that the database has.
    private enum FileStanding {
        /// They are those that were stored last.
        case same
        /// They were said after those, and why.
        case news(String)
        /// Those were stored after them, and how that is known.
        case overtaken(String)
    }

    /// What cannot be read counts as stored later.
    private func standing(of file: RulesFile) -> FileStanding {
        do {
            let last = try database.storage.rulesVersion
            let bytes = file.canonicalBytes
            guard last > 0 else { return .news("the database had none") }
            guard try !database.storage.rules(ofVersion: last, are: bytes) else { return .same }
            if let heeded = try database.storage.heededRules {
                return heeded == SHA256.digest(bytes)
                    ? .overtaken("the file is the same as when it was compared last")
                    : .news("the file has changed since it was compared last")
            }
            // Nothing is known of a file, such as where an older server had the database.
            let isFormer = try (1..<last).contains { try database.storage.rules(ofVersion: $0, are: bytes) }
            return isFormer
                ? .overtaken("the database had the file's rules before these") : .news("the database never had them")
        } catch {
            database.noteFailure("the versions of the rules could not be read", error)
            return .overtaken("its versions could not be read")
        }
    }

    /// Notes that the server's file was compared with what the database has.
    private func heed(_ file: RulesFile) {
        let digest = SHA256.digest(file.canonicalBytes)
        do {
            guard try database.storage.heededRules != digest else { return }
            try database.transaction { try database.storage.noteHeededRules(digest) }
        } catch {
            // It is compared again when the database is opened again.
            database.noteFailure("it could not be stored which rules the server's file has", error, at: .warning)
        }
    }

    /// Logs which rules hold, and why. Of a database that is not made yet nothing is said: anybody may ask for one.
    private func noteHolding(_ level: LogLevel, _ message: String, _ reason: String) {
        guard materialize == nil else { return }
        var details: [(String, String)] = []
        if let version = try? database.storage.rulesVersion, version > 0 {
            details.append(("version", "\(version)"))
            if let origin = try? database.storage.rulesOrigin(ofVersion: version) {
                details += [("since", origin.time.description), ("by", origin.author)]
            }
        }
        database.note(level, message, details + [("reason", reason)])
    }

    /// Where rules come from that this server stores.
    func origin(_ cause: RulesOrigin.Cause, at time: Timestamp, userID: String? = nil) -> RulesOrigin {
        RulesOrigin(cause, at: time, userID: userID, workerID: workerID)
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
    /// - Parameters:
    ///   - origin: where they come from; nil if that is not known.
    ///   - isHeeded: whether they are those of the server's file.
    /// - Returns: the version of the rules, and whether it is new.
    @discardableResult
    package func deploy(
        _ file: RulesFile, from origin: RulesOrigin? = nil, isHeeded: Bool = false
    ) throws -> (version: Int, isNew: Bool) {
        let stored = try store(file, from: origin, isHeeded: isHeeded)
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
    ///
    /// - Parameter isHeeded: whether they are those of the server's file.
    func store(
        _ file: RulesFile, from origin: RulesOrigin?, isHeeded: Bool = false
    ) throws -> (version: Int, isNew: Bool) {
        if let version = try storedVersion(of: file) { return (version, false) }
        try database.becomeDurable()
        // The file may have come with the rules that the server was started with.
        if let version = try storedVersion(of: file) { return (version, false) }
        if try database.storage.rulesVersion == 0, let configuredRules, configuredRules != file {
            // So that it is known later which of them came first.
            let first = origin.map { self.origin(.file, at: $0.time) }
            try database.transaction { try database.storage.setRules(configuredRules, heeded: true, from: first) }
            note(.rulesDeployed(version: 1, former: 0), in: nil, user: User.serverID)
        }
        try database.transaction { try database.storage.setRules(file, heeded: isHeeded, from: origin) }
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

extension SQLiteServerStorage {
    /// Sets other rules, which hold from now on; within a transaction.
    ///
    /// - Parameter heeded: whether they are those of the server's file.
    func setRules(_ file: RulesFile, heeded: Bool, from origin: RulesOrigin?) throws {
        try setRules(file.canonicalBytes, from: origin)
        if heeded { try noteHeededRules(SHA256.digest(file.canonicalBytes)) }
    }
}

extension RulesOrigin {
    /// Who has stored the rules, in words.
    var author: String {
        let author =
            switch cause {
            case .file: "the server's file"
            case .reload: "the server's file, read again"
            case .client: userID.map { "user \($0)" } ?? "nobody in particular"
            }
        return workerID.map { "\(author), at \($0)" } ?? author
    }
}
