import SluiceModel
import SluiceServer
import SluiceStorage
import SluiceWire

/// Knows who each session of a simulation's server is for, and judges everything that the server sends.
///
/// It survives the server's crashes.
final class AccessWatch {
    private struct Session {
        let id: SessionID
        let client: Int
        /// The node that has it.
        let node: Int
        var identity: SimulatedIdentity
        /// What the server calls that which the user may read.
        var context: [UInt8]?
    }

    private let history: ServerHistory
    /// The rules that each node has.
    private var rules: [Int: SimulatedRules] = [:]
    /// The rules that were stored last, of a server of several nodes.
    var newestRules: SimulatedRules?
    /// The open sessions, by connection: a client opens one.
    private var sessions: [UInt64: Session] = [:]
    /// What each client's user may have been allowed where the server named a context.
    private var accesses: [Int: [[UInt8]: [RuledAccess]]] = [:]
    /// The transactions of each client that the server said it rejects.
    private(set) var rejected: [Int: Set<UInt64>] = [:]
    /// Those that it rejects in what is being judged: not what it decided before, in a history that may have ended.
    private(set) var rejectedNow: [Int: Set<UInt64>] = [:]
    /// The objects that each client was sent, or wrote itself.
    private var known: [Int: Set<ObjectRef>] = [:]
    /// What each client's user might do, with the version from which on, ascending.
    private var holdings: [Int: [(since: UInt64, access: RuledAccess)]] = [:]
    /// The nodes that were to store rules, by the numbers of these.
    private var deployers: [Int: Int] = [:]
    /// The node of each client's last session.
    private var lastNodes: [Int: Int] = [:]
    /// The user whose each client's store is, for the server: who opened it last. After the server has lost the store's
    /// first opening, that is whom the client pretends to be.
    private(set) var owners: [Int: Int64?] = [:]
    /// Who has a session, or had one recently.
    private(set) var recent: Set<SimulatedIdentity> = []
    /// What happened, to see that simulations reach it.
    var counts = AccessCounts()

    init(_ history: ServerHistory) { self.history = history }

    // MARK: Sessions

    func opened(_ id: SessionID, client: Int, at node: Int, _ identity: SimulatedIdentity) {
        sessions[id.connection] = Session(id: id, client: client, node: node, identity: identity)
        recent.insert(identity)
        if let last = lastNodes.updateValue(node, forKey: client), last != node { counts.movedSessions += 1 }
        noteHolding(of: client, at: node, identity)
    }

    func renewed(_ id: SessionID, _ identity: SimulatedIdentity) {
        if sessions[id.connection]?.identity != identity { counts.changedIdentities += 1 }
        sessions[id.connection]?.identity = identity
        recent.insert(identity)
        guard let session = sessions[id.connection] else { return }
        noteAccess(of: session)
        noteHolding(of: session.client, at: session.node, identity)
    }

    /// Forgets the sessions of connections that the server does not know any more.
    func keepSessions(of connections: (SessionID) -> Bool) {
        sessions = sessions.filter { connections($0.value.id) }
    }

    /// Forgets of who had a session that it was recently.
    func forgetDeparted() { recent = Set(sessions.values.map(\.identity)) }

    /// Notes the rules that a node has from now on, of a server that is one node.
    func deployed(_ rules: SimulatedRules) {
        self.rules[0] = rules
        newestRules = rules
        for session in sessions.values { noteAccess(of: session) }
        for (client, holdings) in holdings {
            if let identity = holdings.last?.access.identity { noteHolding(of: client, at: 0, identity) }
        }
    }

    /// Notes that one of several nodes is to store rules.
    func announced(_ rules: SimulatedRules, at node: Int) { deployers[rules.number] = node }

    /// Notes the rules that one of several nodes has from now on.
    func moved(_ node: Int, to rules: SimulatedRules?) {
        guard self.rules[node]?.number != rules?.number else { return }
        if let rules, deployers[rules.number] != node { counts.followedRules += 1 }
        self.rules[node] = rules
        for session in sessions.values where session.node == node {
            noteAccess(of: session)
            noteHolding(of: session.client, at: node, session.identity)
        }
    }

    private func noteHolding(of client: Int, at node: Int, _ identity: SimulatedIdentity) {
        holdings[client, default: []].append(
            (history.latest.version, RuledAccess(rules: rules[node], identity: identity)),
            unlessLastBy: { $0.access.name })
    }

    /// Whether the user of a client might read an object at some time, by what held then.
    ///
    /// - Parameter stand: where the node stands that tells of the object.
    private func wasReadable(_ object: ObjectRef, by client: Int, before stand: AccessStand) -> Bool {
        let holdings = holdings[client] ?? []
        return holdings.indices.contains { index in
            // Who moves to a node that lags goes back.
            let since = min(holdings[index].since, stand.version)
            let end = index + 1 < holdings.count ? holdings[index + 1].since : stand.version
            return (since...max(since, end)).contains { version in
                history.state(at: version, inEpoch: stand.epoch)?.readable(by: holdings[index].access)
                    .isPresent(object) ?? false
            }
        }
    }

    /// Whether an object was readable at some time by what holds for a user now.
    private func wasEverReadable(_ object: ObjectRef, by identity: SimulatedIdentity, before stand: AccessStand) -> Bool
    {
        let access = RuledAccess(rules: stand.rules, identity: identity)
        return (0...stand.version).contains { version in
            history.state(at: version, inEpoch: stand.epoch)?.readable(by: access).isPresent(object) ?? false
        }
    }

    /// The id of the user of the session on a connection.
    func userID(of connection: UInt64) -> String? { sessions[connection]?.identity.userID }

    /// The users of open sessions with an id.
    func identities(ofUser id: String?) -> [SimulatedIdentity] {
        sessions.sorted { $0.key < $1.key }.map(\.value.identity).filter { $0.userID == id }
    }

    /// What the user of a client may do now, if the client has a session.
    func access(of client: Int) -> RuledAccess? {
        sessions.values.filter { $0.client == client }.max { $0.id < $1.id }
            .map { RuledAccess(rules: rules[$0.node], identity: $0.identity) }
    }

    /// What the user of a client may have been allowed in a context, the latest first.
    ///
    /// - Parameter context: as the client stores it; nil if the server never named one.
    func accesses(of client: Int, in context: [UInt8]?) -> [RuledAccess] {
        guard let context else { return [RuledAccess(rules: nil, identity: SimulatedIdentity())] }
        return accesses[client]?[context]?.reversed() ?? []
    }

    private func noteAccess(of session: Session) { noteAccess(of: session, by: rules[session.node]) }

    private func noteAccess(of session: Session, by rules: SimulatedRules?) {
        guard let context = session.context else { return }
        accesses[session.client, default: [:]][context, default: []].append(
            RuledAccess(rules: rules, identity: session.identity), unlessLastBy: { $0.name })
    }

    func noteWrites(of client: Int, _ changesets: [Changeset]) {
        for operation in changesets.flatMap(\.operations) { known[client, default: []].insert(operation.object) }
    }

    // MARK: Frames

    /// Begins to judge what a node has made of a batch.
    func beginJudging() { rejectedNow = [:] }

    /// Judges a frame that the server sends.
    ///
    /// - Parameter stands: where the node stood while it made the frame, in order.
    func judge(_ frame: [UInt8], to connection: UInt64, among stands: [AccessStand]) throws {
        for message in try Frame.decode(frame, as: ServerMessage.self) {
            switch message {
            case .page(let page):
                try judge([page.content], to: connection, among: stands)
            case .commit(let commit):
                let version = commit.header.version
                let blocks = commit.blocks.map(\.content)
                try judge(blocks, to: connection, among: stands.filter { $0.version == version })
            case .context(let context):
                counts.contexts += 1
                guard var session = sessions[connection] else { break }
                session.context = context.context.wireBytes() + context.fields.wireBytes()
                sessions[connection] = session
                for stand in stands { noteAccess(of: session, by: stand.rules) }
            case .rejected(let rejected):
                note(rejected.rejection, of: connection)
                guard let client = sessions[connection]?.client else { break }
                rejectedNow[client, default: []].insert(rejected.rejection.sequence)
            case .withdrawn(let withdrawn):
                // The client has named them itself, also those that it has not uploaded yet.
                guard let client = sessions[connection]?.client else { continue }
                for group in withdrawn.content.groups {
                    known[client, default: []].formUnion(group.keys.map { ObjectRef(group.classIndex, $0) })
                }
            case .opened(let opened):
                if let session = sessions[connection] { owners[session.client] = .some(session.identity.user) }
                for rejection in opened.rejections { note(rejection, of: connection) }
            // They tell of no object. A new message decides here whether it does.
            case .hello, .schema, .complete, .listMembers, .digest, .login, .subscriptionError, .error, .moved,
                .message, .report, .reportError:
                break
            // No session of the simulation is one of those that are told them.
            case .places: break
            }
        }
    }

    private func note(_ rejection: ServerMessage.Rejection, of connection: UInt64) {
        guard let client = sessions[connection]?.client else { return }
        if rejection.reasons.contains(where: { $0.code == .permissionDenied }) { counts.refusals += 1 }
        rejected[client, default: []].insert(rejection.sequence)
    }

    private func judge(_ blocks: [ViewBlock], to connection: UInt64, among stands: [AccessStand]) throws {
        guard blocks.contains(where: { !$0.isEmpty }) else { return }
        guard let session = sessions[connection], let last = stands.last else {
            throw SimulationFailure(
                "the server sends objects to connection \(connection), which has no session, or of a state it never had"
            )
        }
        let states = stands.compactMap { stand in
            history.state(at: stand.version, inEpoch: stand.epoch)?
                .readable(by: RuledAccess(rules: stand.rules, identity: session.identity))
        }
        for block in blocks {
            for group in block.objects.groups {
                for key in group.keys {
                    let object = ObjectRef(group.classIndex, key)
                    known[session.client, default: []].insert(object)
                    counts.judgedRows += 1
                    if last.rules?.number != newestRules?.number { counts.rowsByFormerRules += 1 }
                    guard states.contains(where: { $0.isPresent(object) }) else {
                        let name = history.latest.schema[group.classIndex].name
                        let access = RuledAccess(rules: last.rules, identity: session.identity)
                        throw SimulationFailure(
                            "client \(session.client) is sent \(name) \(key), which it may not read: \(access.name), "
                                + "\(access.rules?.text ?? "")")
                    }
                }
            }
            for departure in block.departures {
                if departure.reason == .permission { counts.revokedObjects += 1 }
                // An object may come and go again between two pages, and is told to be gone without having been sent.
                // Who joins pages that others with the same rights are being sent is told of it too.
                let isKnown = known[session.client]?.contains(departure.object) ?? false
                guard
                    isKnown || wasReadable(departure.object, by: session.client, before: last)
                        || wasEverReadable(departure.object, by: session.identity, before: last)
                else {
                    throw SimulationFailure(
                        "client \(session.client) is told that \(departure.object) is gone (\(departure.reason), as \(departure.role)), "
                            + "which it never might know")
                }
            }
        }
    }
}

/// How often simulations met what concerns permissions.
package struct AccessCounts: Sendable, SummedCounts {
    package var judgedRows = 0
    package var contexts = 0
    package var revokedObjects = 0
    package var refusals = 0
    package var judgedWrites = 0
    package var judgedRefusals = 0
    package var deployments = 0
    package var changedIdentities = 0
    package var endedSessions = 0
    package var refusedLogins = 0
    /// How many sessions were opened at another node than the client's session before.
    package var movedSessions = 0
    /// How many times a node was led to other rules by what another one had stored.
    package var followedRules = 0
    /// How many rows a node has sent that had still to learn of other rules.
    package var rowsByFormerRules = 0

    package init() {}

    package static var all: [WritableKeyPath<AccessCounts, Int>] {
        [
            \.judgedRows, \.contexts, \.revokedObjects, \.refusals, \.judgedWrites, \.judgedRefusals, \.deployments,
            \.changedIdentities, \.endedSessions, \.refusedLogins, \.movedSessions, \.followedRules,
            \.rowsByFormerRules,
        ]
    }
}

extension Array {
    /// Adds an element, unless the last one has the same name.
    fileprivate mutating func append(_ element: Element, unlessLastBy name: (Element) -> String) {
        if last.map(name) != name(element) { append(element) }
    }
}
