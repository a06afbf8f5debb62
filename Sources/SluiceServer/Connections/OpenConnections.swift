internal import SluiceAccess
internal import Synchronization

/// The open connections of a server, of all doors.
final class OpenConnections: Sendable {
    private let connections = Mutex<[UInt64: PeerConnection]>([:])

    var count: Int { connections.withLock { $0.count } }

    var all: [PeerConnection] { connections.withLock { Array($0.values) } }

    subscript(id: UInt64) -> PeerConnection? { connections.withLock { $0[id] } }

    /// Those of the connections that are open.
    subscript(ids: [UInt64]) -> [PeerConnection] {
        connections.withLock { connections in ids.compactMap { connections[$0] } }
    }

    func insert(_ peer: PeerConnection) { connections.withLock { $0[peer.id] = peer } }

    func remove(_ peer: PeerConnection) { connections.withLock { $0[peer.id] = nil } }
}

extension LoginChecks.Subjects {
    /// The sessions of all open connections.
    init(_ connections: OpenConnections) {
        self.init(
            users: { connections.all.flatMap(\.users) },
            adopt: { standings in for peer in connections.all { peer.perform { $0.adopt(standings) } } },
            expire: { now in for peer in connections.all { peer.perform { $0.expire(now: now) } } })
    }
}
