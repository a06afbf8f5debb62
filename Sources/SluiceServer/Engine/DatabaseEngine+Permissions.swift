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

    /// Lets the rules that the database has hold, if it has any. Call it when an existing database is opened.
    package func loadRules() {
        if let rules = rules.latest() { hold(rules) }
    }

    /// Compares the rules of the server's file with those that the database has, and lets the later ones hold: when the
    /// database is opened, and when the server has read its file again.
    ///
    /// A file says something new when it is another one than when it was compared last, also if it is as it was at some
    /// time. Then its rules are stored, and hold. A file that says nothing new leaves those that were stored after it, as
    /// `sluice rules deploy` does: a server that is started again undoes nothing.
    ///
    /// - Parameters:
    ///   - file: the server's file; nil if it has none.
    ///   - isWritable: whether the database can be written; if not, nothing is stored.
    ///   - cause: why they are compared.
    ///   - now: the time by the server's clock.
    /// - Returns: whether the rules of the file hold.
    @discardableResult
    package func begin(
        with file: RulesFile?, isWritable: Bool, because cause: RulesOrigin.Cause = .file, now: Timestamp
    ) throws -> Bool {
        rules.ofServer = file
        guard let file else {
            loadRules()
            if permissions.hasRules {
                rules.noteHolding(.info, "the rules that the database has hold", "the server has no file")
            }
            return false
        }
        switch rules.standing(of: file) {
        case .same:
            if isWritable { rules.heed(file) }
            rules.noteHolding(.info, "the rules of the server's file hold", "the database has the same")
        case .news(let reason):
            if isWritable {
                do {
                    try deploy(file, from: rules.origin(cause, at: now), isHeeded: true) {
                        guard case .news = rules.standing(of: file) else { throw RulesOvertaken() }
                    }
                } catch is RulesOvertaken {
                    return try begin(with: file, isWritable: isWritable, because: cause, now: now)
                }
            }
            rules.noteHolding(.info, "the rules of the server's file hold", reason)
        case .overtaken(let reason):
            if isWritable { rules.heed(file) }
            loadRules()
            rules.noteHolding(
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
            // The file is newer than what others have stored until now. If they do not answer, it is not stored.
            if isFile, database.materialize == nil { try? database.catchUpToRefuse() }
            let isStored = isFile && database.materialize == nil && database.isWritable
            let holds = try begin(with: rules, isWritable: isStored, because: .reload, now: now)
            // A database that has no file yet gets them with it.
            if holds, !isStored { hold(AccessRules(rules)) }
        } catch {
            database.noteFailure("the server's rules and quotas could not be taken over", error)
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
    /// - Parameters:
    ///   - origin: where they come from; nil if that is not known.
    ///   - isHeeded: whether they are those of the server's file.
    ///   - check: called in the state after which they are stored; if it throws, they are not stored.
    /// - Returns: the version of the rules, and whether it is new.
    @discardableResult
    package func deploy(
        _ file: RulesFile, from origin: RulesOrigin? = nil, isHeeded: Bool = false,
        if check: () throws -> Void = {}
    ) throws -> (version: Int, isNew: Bool) {
        let stored = try rules.store(file, from: origin, isHeeded: isHeeded, if: check)
        if stored.isNew {
            audit.note(.rulesDeployed(version: stored.version, former: stored.version - 1), user: User.serverID)
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

    /// Others have stored rules after those of the server's file, which are not stored then.
    private struct RulesOvertaken: Error {}

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
