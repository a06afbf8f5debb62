import SluiceAccess
import SluiceModel
import SluiceRules
import SluiceServer
import SluiceStorage
import SluiceWire

/// Rules that change, logins that end, and the judgement of what the server takes and refuses.
extension SimulatedServer {
    /// Stores other rules, which hold from now on.
    func deploy(_ generator: inout SeededGenerator, now: Timestamp) throws -> [Output] {
        let rules = SimulatedRules(
            number: (watch.rules?.number ?? 0) + 1, isGenerous: options.hasGenerousRules, &generator)
        try engine.deploy(try RulesFile(rules.text))
        watch.counts.deployments += 1
        watch.deployed(rules)
        return try handle([], now: now) + carryOut(engine.handle([], now: now))
    }

    /// Ends the connections of a user.
    func expel(userID: String?, now: Timestamp) throws -> [Output] {
        var batch = ServerBatch(server: self, now: now)
        for connection in connections {
            let actions =
                protocols[connection]?.expel(
                    because: "the login of the session was revoked", .authenticationFailed, { $0.id == userID }) ?? []
            try batch.perform(actions, of: connection)
        }
        return try batch.finish()
    }

    /// Learns that other claims are known about a user, which hold in the user's open sessions from now on.
    func adopt(_ identity: SimulatedIdentity, now: Timestamp) throws -> [Output] {
        var batch = ServerBatch(server: self, now: now)
        let claims = issuer.token(of: identity.user, now: now).claims
        for connection in connections {
            let users = protocols[connection]?.users.filter { $0.id == identity.userID } ?? []
            guard !users.isEmpty else { continue }
            // A client opens one session on a connection.
            for session in protocols[connection]?.sessions.keys.sorted() ?? [] {
                identities[SessionID(connection: connection, session: session)] = identity
            }
            let standings = Dictionary(users.map { ($0, LoginStanding.changed(claims: claims)) }) { $1 }
            try batch.perform(protocols[connection]?.adopt(standings) ?? [], of: connection)
        }
        return try batch.finish()
    }

    /// Ends the sessions whose tokens have expired.
    func expire(now: Timestamp) throws -> [Output] {
        var batch = ServerBatch(server: self, now: now)
        try batch.expire()
        return try batch.finish()
    }

    func note(_ messages: [ClientMessage], of client: Int, on connection: UInt64) {
        guard options.isRuled else { return }
        for case .upload(_, let changesets) in messages {
            watch.noteWrites(of: client, changesets)
            let userID = watch.userID(of: connection)
            uploads += changesets.map { (client, userID, $0) }
        }
    }

    /// Checks that the transactions that the server has just taken were allowed.
    func judgeWrites(since before: ServerState) throws {
        for entry in history.fresh {
            watch.counts.judgedWrites += 1
            let states = (history.state(at: entry.version - 1), history.state(at: entry.version))
            guard case (let before?, let after?) = states else { continue }
            let accesses = watch.accesses(ofUser: entry.userID)
            let problems = accesses.map {
                WriteJudge.problem(taking: entry, by: $0, before: before, after: after)
            }
            if let problem = problems.first, !problems.contains(nil) {
                throw SimulationFailure(
                    "the server took version \(entry.version): \(problem ?? ""), by \(accesses[0].name), "
                        + "\(accesses[0].rules?.text ?? "")")
            }
        }
    }

    /// Checks that the transactions that the server has just refused were not allowed.
    func judgeRefusals(since version: UInt64) throws {
        for upload in uploads where watch.rejected[upload.client]?.contains(upload.changeset.sequence) ?? false {
            guard upload.changeset.operations.count <= options.operationCountMax else { continue }
            watch.counts.judgedRefusals += 1
            let accesses = watch.accesses(ofUser: upload.userID)
            let states = (version...history.latest.version).compactMap(history.state(at:))
            let isRight = states.contains { state in
                accesses.contains { !WriteJudge.mustBeTaken(upload.changeset, by: $0, at: state) }
            }
            guard isRight || accesses.isEmpty else {
                throw SimulationFailure(
                    "the server refused what is allowed: \(upload.changeset) by \(accesses[0].name), "
                        + "\(accesses[0].rules?.text ?? "")")
            }
        }
    }
}
