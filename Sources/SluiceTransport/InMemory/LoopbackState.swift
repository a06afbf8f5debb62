/// The state of a ``LoopbackNetwork``, guarded by its lock.
struct LoopbackState {
    /// What can be delivered to one end of a connection.
    enum Item {
        case request(HTTPRequest)
        case opened
        case message(SharedBuffer)
        case close(CloseCode, reason: String)
        case ended(TransportError?)
    }

    struct End {
        let connection: LoopbackConnection
        let peer: ConnectionID
        let host: String
        let isServer: Bool
        var delegate: (any MessageConnectionDelegate)?
        var inbound: [(sequence: UInt64, item: Item)] = []
        var inboundHead = 0
        var pauses: PauseReason = []
        var isEndedByOwner = false
        var isAboveLowWater = false

        var first: (sequence: UInt64, item: Item)? { inboundHead < inbound.count ? inbound[inboundHead] : nil }

        mutating func takeFirst() -> Item? {
            guard let item = first?.item else { return nil }
            inboundHead += 1
            if inboundHead > 32, inboundHead * 2 > inbound.count {
                inbound.removeFirst(inboundHead)
                inboundHead = 0
            }
            return item
        }
    }

    var listeners: [String: ServerHooks] = [:]
    var ends: [ConnectionID: End] = [:]
    var cutHosts: Set<String> = []
    var stalledHosts: Set<String> = []
    var isDelivering = false
    var isPumpScheduled = false
    private var lastSequence: UInt64 = 0

    /// Puts an item into the queue of an end, if that end still exists.
    mutating func post(_ item: Item, to id: ConnectionID) {
        lastSequence += 1
        ends[id]?.inbound.append((lastSequence, item))
    }

    /// Empties the queue of an end, so that the end of the connection is delivered next.
    mutating func end(_ id: ConnectionID, _ error: TransportError?) {
        ends[id]?.inbound = []
        ends[id]?.inboundHead = 0
        post(.ended(error), to: id)
    }

    /// The ends that something can be delivered to, in the order in which their first items were sent.
    func candidates() -> [ConnectionID] {
        var found: [(sequence: UInt64, id: ConnectionID)] = []
        for (id, end) in ends {
            guard let (sequence, item) = end.first else { continue }
            switch item {
            case .ended: break
            case .message where !end.pauses.isEmpty: continue
            case .request, .opened, .message, .close: if stalledHosts.contains(end.host) { continue }
            }
            found.append((sequence, id))
        }
        return found.sorted { $0.sequence < $1.sequence }.map(\.id)
    }
}
