internal import SluiceModel
internal import SluiceRules
internal import SluiceStorage
internal import SluiceWire

/// Rules that are stored by a client of the database, such as the command line.
///
/// The right `rules` of the rules that hold says who may store others. A database without rules takes them from a
/// development server's clients alone: elsewhere whoever may log in could lock everybody else out.
extension DatabaseEngine {
    /// Stores rules, or says what they would change. That there is no right to it, and that the rules are there already, is
    /// said of the state at the end of the journal.
    func deploy(_ deployment: ClientMessage.Deployment, by session: ServerSession, now: Timestamp) throws {
        var former = try database.storage.rulesVersion
        func fail(_ code: ErrorCode, _ message: String) {
            if !deployment.isTrial {
                audit.note(
                    .rulesDeployed(version: former, former: former), in: session.id, user: session.user.id, .refused,
                    because: code == .invalidRules ? "the file is not well formed" : message)
            }
            let failure = ServerMessage.ReportError(
                session: deployment.session, request: deployment.request, code: code, message: message)
            output.send([.reportError(failure)], to: session.id)
        }
        func failToStore(_ error: StorageError) {
            database.noteFailure("rules could not be stored", error)
            fail(
                .internalError,
                Consequence.sentence("the server could not store the rules", of: database.name, because: error))
        }
        func checkRight() throws {
            try checkGoesOn(session)
            guard mayDeploy(session), deployment.isTrial || !session.isReadOnly else { throw MissingRight() }
        }
        do { try database.catchUpToRefuse() } catch let error as StorageError {
            // A trial is a question, which is answered by what is known.
            guard deployment.isTrial else { return failToStore(error) }
        }
        former = try database.storage.rulesVersion
        let file: RulesFile
        do {
            try checkRight()
            file = try RulesFile(deployment.file)
        } catch let error as RulesError {
            return fail(.invalidRules, error.summary)
        } catch is MissingRight {
            return fail(.permissionDenied, Self.refusal(ofRulesIn: permissions.hasRules))
        }
        do {
            // Without rules, what is new is told of all parts.
            var formerFile = try RulesFile("{}")
            var mayDeployAgain = false
            // In the state after which the rules are stored: others may have taken the right, or stored other rules.
            func prepare() throws {
                try checkRight()
                if let former = permissions.rules?.file { formerFile = former }
                mayDeployAgain = try mayDeploy(session, under: file)
            }
            try prepare()
            let stored: (version: Int, isNew: Bool) =
                deployment.isTrial
                ? (try database.storage.rulesVersion, false)
                : try rules.store(file, from: rules.origin(.client, at: now, userID: session.user.id), if: prepare)
            try checkGoesOn(session)
            let report = JSONText.object([
                ("version", .number(UInt64(stored.version))), ("isNew", .bool(stored.isNew)),
                ("changes", .array(formerFile.differences(to: file).map(\.json))),
                ("warnings", .array(file.problems(with: database.storage.schema).map { .string($0.description) })),
                ("mayDeploy", .bool(mayDeployAgain)),
            ])
            output.send(
                [
                    .report(
                        session: deployment.session, request: deployment.request, json: Array(report.text.utf8))
                ], to: session.id)
            // Sessions that are moved, or end, are told after the answer.
            if stored.isNew {
                audit.note(
                    .rulesDeployed(version: stored.version, former: stored.version - 1), in: session.id,
                    user: session.user.id)
                hold(AccessRules(file))
            }
        } catch is MissingRight {
            fail(.permissionDenied, Self.refusal(ofRulesIn: permissions.hasRules))
        } catch let error as StorageError {
            failToStore(error)
        }
    }

    /// Answers a question. Every user may ask about oneself, so what that takes is of the user's share of the turn:
    /// a rule may be costly, and there may be many questions in one message.
    func answer(
        _ request: ClientMessage.ReportRequest, _ session: ServerSession, _ subscriber: Subscriber
    ) throws -> ServerMessage {
        switch request.topic {
        case .rules:
            guard mayDeploy(session) else {
                return request.failure(.permissionDenied, Self.refusal(ofRulesIn: permissions.hasRules))
            }
        case .privileges: break
        case .verdict, .explainAs:
            guard subscriber.access.has(.reports) else { return request.refusal }
        default: return try reports.answer(request, to: subscriber.access) { facts }
        }
        guard budget.allowance(of: subscriber.holder) > 0 else {
            return request.failure(
                .overloaded, "the user asks more at once than a user's share of the server's work; ask again")
        }
        let asked = AccessReports(database: database, rules: permissions.rules, reports: reports)
        let stepCountMax = request.topic == .privileges ? database.limits.shareStepCountMax : nil
        do {
            return try budget.charging(subscriber, stepCountMax: stepCountMax) { _ in
                try asked.answer(request, as: subscriber.access, rights: rights(of: session, subscriber))
            }
        } catch let error as StorageError where error.endsQueryAlone {
            let (code, message) = database.subscriberError(of: error)
            return request.failure(code, message)
        }
    }

    private func rights(of session: ServerSession, _ subscriber: Subscriber) -> [DatabaseRight] {
        DatabaseRight.allCases.filter { right in
            switch right {
            case .schema: mayChangeSchema(session)
            case .reports: subscriber.access.has(.reports)
            case .rules: mayDeploy(session) && !session.isReadOnly
            case .messages: subscriber.access.has(.messages)
            case .jobs: subscriber.access.has(.jobs) && !session.isReadOnly
            }
        }
    }

    func mayDeploy(_ session: ServerSession) -> Bool {
        permissions.hasRules ? permissions.binding(of: session.id).has(.rules) : session.user.mayBeginRules
    }

    static func refusal(ofRulesIn hasRules: Bool) -> String {
        hasRules
            ? "the database's rules do not give this user the right 'rules'"
            : "the database has no rules, and takes the first ones from the server's operator alone: serve --rules=FILE"
    }

    /// Whether the user of a session would have the right to store rules again.
    private func mayDeploy(_ session: ServerSession, under file: RulesFile) throws -> Bool {
        try database.limitingWork(for: session.id) { _ in
            try AccessRules(file).bind(session.user, schema: database.storage.schema) { query in
                try database.storage.refs(matching: query).map(\.key)
            }.has(.rules)
        }
    }
}

/// The user may not store rules.
private struct MissingRight: Error {}

extension RulesError {
    /// The problems as one message of bounded length.
    fileprivate var summary: String {
        let shown = problems.prefix(20).map(\.description).joined(separator: "\n")
        return problems.count > 20 ? shown + "\nand \(problems.count - 20) more" : shown
    }
}

extension RulesDifference {
    fileprivate var json: JSONText {
        .object([
            ("place", .string(place)), ("before", before.map { .string($0) } ?? .null),
            ("after", after.map { .string($0) } ?? .null),
        ])
    }
}
