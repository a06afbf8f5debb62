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
        var identity: SimulatedIdentity
        /// What the server calls that which the user may read.
        var context: [UInt8]?
    }

    private let history: ServerHistory
    /// The rules that the database has.
    private(set) var rules: SimulatedRules?
    /// The open sessions, by connection: a client opens one.
    private var sessions: [UInt64: Session] = [:]
    /// What each client's user may have been allowed where the server named a context.
    private var accesses: [Int: [[UInt8]: [RuledAccess]]] = [:]
    /// The transactions of each client that the server said it rejects.
    private(set) var rejected: [Int: Set<UInt64>] = [:]
    /// The objects that each client was sent, or wrote itself.
    private var known: [Int: Set<ObjectRef>] = [:]
    /// What each client's user might do, with the version from which on, ascending.
    private var holdings: [Int: [(since: UInt64, access: RuledAccess)]] = [:]
    /// What happened, to see that simulations reach it.
    var counts = AccessCounts()

    init(_ history: ServerHistory) { self.history = history }

    // MARK: Sessions

    func opened(_ id: SessionID, client: Int, _ identity: SimulatedIdentity) {
        sessions[id.connection] = Session(id: id, client: client, identity: identity)
        noteHolding(of: client, identity)
    }

    func renewed(_ id: SessionID, _ identity: SimulatedIdentity) {
        if sessions[id.connection]?.identity != identity { counts.changedIdentities += 1 }
        sessions[id.connection]?.identity = identity
        noteAccess(of: id.connection)
        if let client = sessions[id.connection]?.client { noteHolding(of: client, identity) }
    }

    /// Forgets the sessions of connections that the server does not know any more.
    func keepSessions(of connections: (SessionID) -> Bool) {
        sessions = sessions.filter { connections($0.value.id) }
    }

    func deployed(_ rules: SimulatedRules?) {
        self.rules = rules
        for connection in sessions.keys { noteAccess(of: connection) }
        for (client, holdings) in holdings {
            if let identity = holdings.last?.access.identity { noteHolding(of: client, identity) }
        }
    }

    private func noteHolding(of client: Int, _ identity: SimulatedIdentity) {
        holdings[client, default: []].append(
            (history.latest.version, RuledAccess(rules: rules, identity: identity)), unlessLastBy: { $0.access.name })
    }

    /// Whether the user of a client might read an object at some time, by what held then.
    private func wasReadable(_ object: ObjectRef, by client: Int) -> Bool {
        let holdings = holdings[client] ?? []
        return holdings.indices.contains { index in
            let end = index + 1 < holdings.count ? holdings[index + 1].since : history.latest.version
            return (holdings[index].since...end).contains { version in
                history.state(at: version)?.readable(by: holdings[index].access).isPresent(object) ?? false
            }
        }
    }

    /// Whether an object was readable at some time by what holds for a user now.
    private func wasEverReadable(_ object: ObjectRef, by access: RuledAccess) -> Bool {
        (0...history.latest.version).contains { version in
            history.state(at: version)?.readable(by: access).isPresent(object) ?? false
        }
    }

    /// The id of the user of the session on a connection.
    func userID(of connection: UInt64) -> String? { sessions[connection]?.identity.userID }

    /// What the users of open sessions with an id may do now.
    func accesses(ofUser id: String?) -> [RuledAccess] {
        sessions.sorted { $0.key < $1.key }.map(\.value.identity).filter { $0.userID == id }
            .map { RuledAccess(rules: rules, identity: $0) }
    }

    /// What the user of a client may do now, if the client has a session.
    func access(of client: Int) -> RuledAccess? {
        sessions.values.filter { $0.client == client }.max { $0.id < $1.id }
            .map { RuledAccess(rules: rules, identity: $0.identity) }
    }

    /// What the user of a client may have been allowed in a context, the latest first.
    ///
    /// - Parameter context: as the client stores it; nil if the server never named one.
    func accesses(of client: Int, in context: [UInt8]?) -> [RuledAccess] {
        guard let context else { return [RuledAccess(rules: nil, identity: SimulatedIdentity())] }
        return accesses[client]?[context]?.reversed() ?? []
    }

    private func noteAccess(of connection: UInt64) {
        guard let session = sessions[connection], let context = session.context else { return }
        accesses[session.client, default: [:]][context, default: []].append(
            RuledAccess(rules: rules, identity: session.identity), unlessLastBy: { $0.name })
    }

    func noteWrites(of client: Int, _ changesets: [Changeset]) {
        for operation in changesets.flatMap(\.operations) { known[client, default: []].insert(operation.object) }
    }

    // MARK: Frames

    /// Judges a frame that the server sends.
    ///
    /// - Parameter version: the version of the server before it made the frame.
    func judge(_ frame: [UInt8], to connection: UInt64, since version: UInt64) throws {
        for message in try Frame.decode(frame, as: ServerMessage.self) {
            switch message {
            case .page(let page):
                try judge([page.content], to: connection, among: version...history.latest.version)
            case .commit(let commit):
                let version = commit.header.version
                try judge(commit.blocks.map(\.content), to: connection, among: version...version)
            case .context(let context):
                sessions[connection]?.context = context.context.wireBytes() + context.fields.wireBytes()
                counts.contexts += 1
                noteAccess(of: connection)
            case .rejected(let rejected):
                note(rejected.rejection, of: connection)
            case .withdrawn(let withdrawn):
                // The client has named them itself, also those that it has not uploaded yet.
                guard let client = sessions[connection]?.client else { continue }
                for group in withdrawn.content.groups {
                    known[client, default: []].formUnion(group.keys.map { ObjectRef(group.classIndex, $0) })
                }
            case .opened(let opened):
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

    private func judge(_ blocks: [ViewBlock], to connection: UInt64, among versions: ClosedRange<UInt64>) throws {
        guard blocks.contains(where: { !$0.isEmpty }) else { return }
        guard let session = sessions[connection] else {
            throw SimulationFailure("the server sends objects to connection \(connection), which has no session")
        }
        let access = RuledAccess(rules: rules, identity: session.identity)
        let states = versions.compactMap { history.state(at: $0)?.readable(by: access) }
        for block in blocks {
            for group in block.objects.groups {
                for key in group.keys {
                    let object = ObjectRef(group.classIndex, key)
                    known[session.client, default: []].insert(object)
                    counts.judgedRows += 1
                    guard states.contains(where: { $0.isPresent(object) }) else {
                        let name = history.latest.schema[group.classIndex].name
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
                    isKnown || wasReadable(departure.object, by: session.client)
                        || wasEverReadable(departure.object, by: access)
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

    package init() {}

    package static var all: [WritableKeyPath<AccessCounts, Int>] {
        [
            \.judgedRows, \.contexts, \.revokedObjects, \.refusals, \.judgedWrites, \.judgedRefusals, \.deployments,
            \.changedIdentities, \.endedSessions, \.refusedLogins,
        ]
    }
}

extension Array {
    /// Adds an element, unless the last one has the same name.
    fileprivate mutating func append(_ element: Element, unlessLastBy name: (Element) -> String) {
        if last.map(name) != name(element) { append(element) }
    }
}
