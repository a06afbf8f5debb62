import SluiceAccess
import SluiceModel
import SluiceRules
import SluiceServer
import SluiceStorage
import SluiceTesting
import SluiceWire
import TestSupport

/// Rules that change, logins that end, and the judgement of what the server takes and refuses.
extension SimulatedServer {
    /// Stores other rules, which hold from now on; at one of several nodes, which may not learn whether they are stored.
    ///
    /// - Returns: the rules, and what is to be sent.
    func deploy(_ generator: inout SeededGenerator, now: Timestamp) throws -> (SimulatedRules, [Output]) {
        watch.counts.deployments += 1
        let rules = SimulatedRules(
            number: watch.counts.deployments, isGenerous: options.hasGenerousRules, &generator)
        let file = try RulesFile(rules.text)
        guard let places else {
            try engine.deploy(file)
            watch.deployed(rules)
            return (rules, try handle([], now: now) + carryOut(engine.handle([], now: now), of: nodes[0]))
        }
        try places.announce(rules)
        let node = generator.pick(nodes)
        watch.announced(rules, at: node.number)
        disturbJournal(of: node)
        let (result, outputs) = try perform(on: node, now: now) { node, _ in try node.engine.deploy(file) }
        if case .failure(let error) = result, !(error is StorageError) { throw error }
        return (rules, outputs + (try handle([], on: node, now: now)))
    }

    // MARK: Users

    /// Ends the connections of a user. Of several nodes one does so at once, and the others when they learn it.
    func expel(userID: String?, now: Timestamp) throws -> [Output] {
        try spread(.ended(userID: userID), now: now)
    }

    /// Learns that other claims are known about a user, which hold in the user's open sessions from now on; at the others
    /// of several nodes when they learn it.
    func adopt(_ identity: SimulatedIdentity, now: Timestamp) throws -> [Output] {
        try spread(.changed(user: identity.user), now: now)
    }

    private func spread(_ what: UserNews.What, now: Timestamp) throws -> [Output] {
        let first = nodes.count > 1 ? fortune.below(nodes.count) : 0
        news += nodes.indices.filter { $0 != first }.map { UserNews(node: $0, what: what) }
        return try learn(UserNews(node: first, what: what), now: now)
    }

    /// Has a node learn something of a user, as it is now.
    func learn(_ news: UserNews, now: Timestamp) throws -> [Output] {
        var batch = ServerBatch(server: self, now: now)
        for connection in connections where node(of: connection).number == news.node {
            let actions: [ConnectionProtocol.Action]
            switch news.what {
            case .ended(let userID):
                actions =
                    protocols[connection]?.expel(
                        because: "the login of the session was revoked", .authenticationFailed, { $0.id == userID })
                    ?? []
            case .changed(let user): actions = adopt(issuer.identity(of: user), on: connection, now: now)
            }
            try batch.perform(actions, of: connection)
        }
        return try batch.finish()
    }

    private func adopt(
        _ identity: SimulatedIdentity, on connection: UInt64, now: Timestamp
    ) -> [ConnectionProtocol.Action] {
        let users = protocols[connection]?.users.filter { $0.id == identity.userID } ?? []
        guard !users.isEmpty else { return [] }
        // A client opens one session on a connection.
        for session in protocols[connection]?.sessions.keys.sorted() ?? [] {
            identities[SessionID(connection: connection, session: session)] = identity
        }
        let claims = issuer.token(of: identity.user, now: now).claims
        let standings = Dictionary(users.map { ($0, LoginStanding.changed(claims: claims)) }) { $1 }
        return protocols[connection]?.adopt(standings) ?? []
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
            let node = node(of: connection).number
            uploads += changesets.map { (client, node, userID, $0) }
        }
    }

    // MARK: Several nodes

    /// Reads what the journal has had since the last time.
    func noteGroups() throws {
        guard let places, let journal else { return }
        let identities = watch.recent
        guard try places.note(journal.records, by: identities) else { return }
        watch.forgetDeparted()
        watch.newestRules = places.rules(at: places.last)
    }

    /// Checks that a node has the rules of its place in the journal.
    func checkRules(of node: SimulatedNode) throws {
        guard let places else { return }
        let rules = places.rules(at: node.storage.head)
        let number = try node.storage.rulesVersion
        let stored = number > 0 ? try node.storage.rules(ofVersion: number) : nil
        guard try stored == rules.map({ try RulesFile($0.text).canonicalBytes }) else {
            throw SimulationFailure(
                "node \(node.number) has other rules than \(rules?.number ?? 0), which the journal has at its place")
        }
    }

    /// Where a node stood since it last sent something.
    private func stands(of node: SimulatedNode, since version: UInt64) throws -> [AccessStand] {
        let epoch = node.storage.epoch
        guard let places else {
            return (version...history.latest.version).map {
                AccessStand(version: $0, epoch: epoch, rules: watch.newestRules)
            }
        }
        return try places.stands(from: node.sentHead, to: node.storage.head, inEpoch: epoch)
    }

    // MARK: Judgement

    func keepSessions() {
        watch.keepSessions { protocols[$0.connection]?.sessions[$0.session] != nil }
    }

    /// Judges what a node sends: by the states and the rules that it had itself, whatever other nodes have.
    func judge(_ outputs: [Output], of node: SimulatedNode, since version: UInt64) throws {
        let stands = try stands(of: node, since: version)
        watch.beginJudging()
        for case .send(let frame, let connection) in outputs {
            try watch.judge(frame, to: connection, among: stands)
        }
        if places != nil, let last = stands.last { watch.moved(node.number, to: last.rules) }
        node.sentHead = node.storage.head
        keepSessions()
        try judgeRefusals(of: node, among: stands)
    }

    /// Checks that the transactions that the server has just taken were allowed.
    func judgeWrites() throws {
        for entry in history.fresh {
            watch.counts.judgedWrites += 1
            let states = (history.state(at: entry.version - 1), history.state(at: entry.version))
            guard case (let before?, let after?) = states else { continue }
            let accesses = accesses(of: entry)
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

    /// What the author of a transaction might do when it was taken.
    private func accesses(of entry: SluiceStorage.LogEntry) -> [RuledAccess] {
        guard let places else {
            return watch.identities(ofUser: entry.userID).map {
                RuledAccess(rules: watch.newestRules, identity: $0)
            }
        }
        guard let authority = places.authority(of: entry.version) else { return [] }
        return authority.identities.filter { $0.userID == entry.userID }.sorted { "\($0)" < "\($1)" }
            .map { RuledAccess(rules: authority.rules, identity: $0) }
    }

    /// Checks that the transactions that a node has just refused were not allowed.
    private func judgeRefusals(of node: SimulatedNode, among stands: [AccessStand]) throws {
        for upload in uploads where watch.rejectedNow[upload.client]?.contains(upload.changeset.sequence) ?? false {
            guard upload.changeset.operations.count <= options.operationCountMax, upload.node == node.number else {
                continue
            }
            watch.counts.judgedRefusals += 1
            let identities = watch.identities(ofUser: upload.userID)
            let isRight = stands.contains { stand in
                guard let state = history.state(at: stand.version, inEpoch: stand.epoch) else { return false }
                return identities.contains { identity in
                    let access = RuledAccess(rules: stand.rules, identity: identity)
                    return !WriteJudge.mustBeTaken(upload.changeset, by: access, at: state)
                }
            }
            guard isRight || identities.isEmpty else {
                let text = stands.last?.rules?.text ?? ""
                throw SimulationFailure(
                    "the server refused what is allowed: \(upload.changeset) by \(identities[0]), \(text)")
            }
        }
    }
}

/// Something that a node is to learn of a user, as it learns of changes in the table of users.
struct UserNews {
    enum What {
        /// What the user has logged in to ends.
        case ended(userID: String?)
        /// The server knows other claims.
        case changed(user: Int64?)
    }

    let node: Int
    let what: What
}
