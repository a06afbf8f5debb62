import SluiceModel
import TestSupport

/// Connections between simulated clients and the server: one queue for each direction. The simulation decides when an
/// item is delivered.
struct SimulatedNetwork {
    enum Item {
        /// A client wants to connect.
        case request
        /// The server has accepted the connection.
        case opened
        case frame([UInt8])
        /// The other end or the network has closed the connection.
        case closed
    }

    struct Connection {
        let client: Int
        var toServer: [Item] = []
        var toClient: [Item] = []
    }

    enum Direction { case toServer, toClient }

    private(set) var connections: [UInt64: Connection] = [:]
    private var lastID: UInt64 = 0

    /// The connections and directions in which items wait, by connection.
    var deliveries: [(connection: UInt64, direction: Direction)] {
        connections.sorted { $0.key < $1.key }.flatMap { id, connection in
            (connection.toServer.isEmpty ? [] : [(id, Direction.toServer)])
                + (connection.toClient.isEmpty ? [] : [(id, Direction.toClient)])
        }
    }

    /// Begins a connection of a client. If the client cannot reach the server, the connection closes soon.
    mutating func connect(_ client: Int, isReachable: Bool) -> UInt64 {
        lastID += 1
        connections[lastID] = Connection(
            client: client, toServer: isReachable ? [.request] : [], toClient: isReachable ? [] : [.closed])
        return lastID
    }

    mutating func post(_ item: Item, to direction: Direction, of id: UInt64) {
        switch direction {
        case .toServer: connections[id]?.toServer.append(item)
        case .toClient: connections[id]?.toClient.append(item)
        }
    }

    mutating func takeFirst(_ direction: Direction, of id: UInt64) -> Item? {
        switch direction {
        case .toServer: connections[id].flatMap { $0.toServer.isEmpty ? nil : connections[id]?.toServer.removeFirst() }
        case .toClient: connections[id].flatMap { $0.toClient.isEmpty ? nil : connections[id]?.toClient.removeFirst() }
        }
    }

    /// Breaks a connection. In each direction, some of the items in transit still arrive, and then the end is noticed.
    mutating func cut(_ id: UInt64, _ generator: inout SeededGenerator) {
        guard var connection = connections[id] else { return }
        connection.toServer.removeLast(generator.below(connection.toServer.count + 1))
        connection.toClient.removeLast(generator.below(connection.toClient.count + 1))
        connection.toServer.append(.closed)
        connection.toClient.append(.closed)
        connections[id] = connection
    }

    /// Closes one end at once: items in transit to it are lost, and some of those that it sent may still arrive.
    mutating func lose(_ end: Direction, of id: UInt64, _ generator: inout SeededGenerator) {
        guard var connection = connections[id] else { return }
        switch end {
        case .toServer:
            connection.toServer = []
            connection.toClient.removeLast(generator.below(connection.toClient.count + 1))
            connection.toClient.append(.closed)
        case .toClient:
            connection.toClient = []
            connection.toServer.removeLast(generator.below(connection.toServer.count + 1))
            connection.toServer.append(.closed)
        }
        connections[id] = connection
    }

    /// Closes both ends, and nothing arrives any more of what is under way.
    mutating func loseEverything(of id: UInt64) {
        guard var connection = connections[id] else { return }
        (connection.toServer, connection.toClient) = ([.closed], [.closed])
        connections[id] = connection
    }

    /// Closes the server's end after a last frame, which is lost where others wait before it: some of these are under way
    /// and still arrive, and the rest is not the client's to have any more.
    mutating func expel(_ id: UInt64, _ frame: [UInt8], _ generator: inout SeededGenerator) {
        guard var connection = connections[id] else { return }
        connection.toServer = []
        let waitingCount = generator.below(connection.toClient.count + 1)
        connection.toClient.removeLast(waitingCount)
        connection.toClient += waitingCount == 0 ? [.frame(frame), .closed] : [.closed]
        connections[id] = connection
    }

    /// Removes connections in which nothing waits and that neither end holds.
    mutating func sweep(isHeld: (UInt64) -> Bool) {
        connections = connections.filter { !$0.value.toServer.isEmpty || !$0.value.toClient.isEmpty || isHeld($0.key) }
    }
}
