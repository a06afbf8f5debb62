/// Limits how many connections a server serves before their peers have logged in, so that silent peers cannot keep
/// others out. It has no clock and no sockets.
///
/// Life of a connection: `waiting → pending → admitted`. A pending connection is served until its peer has logged in;
/// the number of pending connections is limited, in all and for each address. A connection beyond that waits, unserved,
/// for a place.
///
/// When no place is free, the pending connection that has made no progress for longest loses its place, but not before
/// ``Limits/patience`` has passed since its last progress: so silent peers delay others by about that long. A place
/// that becomes free because its peer has logged in or gone is given to the connection that has waited longest (one of
/// the same address, if any waits), so a burst of honest peers is served in order. A place that is taken from a silent
/// peer is given to the connection that came last, so a crowd of silent peers cannot stand in line before those that
/// speak.
///
/// Cost: O(1) for each event while places are free, O(pending) when they are not.
struct PendingConnections {
    struct Limits {
        /// The most pending connections.
        var pendingMax: Int
        /// The most pending connections of one address.
        var pendingMaxPerAddress: Int
        /// The most connections that wait.
        var waitingMax = 10_000
        /// How long a pending connection may make no progress while others wait, in nanoseconds.
        var patience: Int64 = 1_000_000_000
        /// How long a peer has to log in, and how long a connection may wait for a place, in nanoseconds.
        var time: Int64

        /// How many places are kept for addresses that have no pending connection.
        var reserve: Int { pendingMax / 4 }
    }

    enum Step: Equatable {
        /// Begin to serve a connection.
        case begin(ConnectionID)
        /// Refuse a connection that was never served.
        case refuse(ConnectionID, reason: String)
        /// End a connection that is served.
        case dismiss(ConnectionID, reason: String)
    }

    private struct Pending {
        var address: AddressKey
        var begun: Int64
        /// When it began or last made progress.
        var progressed: Int64
    }

    private struct Waiting {
        var id: ConnectionID
        var since: Int64
    }

    private let limits: Limits
    private var pending: [ConnectionID: Pending] = [:]
    private var counts: [AddressKey: Int] = [:]
    private var waiting: [AddressKey: [Waiting]] = [:]
    private var waitingCount = 0

    init(_ limits: Limits) { self.limits = limits }

    /// Whether ``tick(now:)`` has anything to watch.
    var isIdle: Bool { pending.isEmpty && waitingCount == 0 }

    /// A peer has connected.
    mutating func arrive(_ id: ConnectionID, from address: AddressKey, now: Int64) -> [Step] {
        if waiting[address] == nil {
            if hasPlace(for: address) { return [begin(id, address, now: now)] }
            if let oldest = longestWithoutProgress(for: address, now: now) {
                return [dismiss(oldest), begin(id, address, now: now)]
            }
        }
        guard waitingCount < limits.waitingMax else { return [.refuse(id, reason: reason)] }
        waiting[address, default: []].append(Waiting(id: id, since: now))
        waitingCount += 1
        return []
    }

    /// A pending connection has made progress.
    mutating func progress(_ id: ConnectionID, now: Int64) { pending[id]?.progressed = now }

    /// A connection is no longer pending: its peer is known, or it has ended.
    mutating func leave(_ id: ConnectionID, now: Int64) -> [Step] {
        guard let address = forget(id) else { return [] }
        return fill(first: address, now: now)
    }

    /// Ends the connections whose time has passed, and gives the places of silent peers to those that wait. Call it a
    /// few times a second while not ``isIdle``.
    mutating func tick(now: Int64) -> [Step] {
        var steps: [Step] = []
        for (id, entry) in pending.sorted(by: { $0.key.rawValue < $1.key.rawValue })
        where now - entry.begun >= limits.time {
            _ = forget(id)
            steps.append(.dismiss(id, reason: "the peer has not logged in in time"))
        }
        for address in waiting.keys {
            let late = waiting[address]?.prefix { now - $0.since >= limits.time } ?? []
            for entry in late {
                steps.append(.refuse(entry.id, reason: reason))
            }
            removeWaiting(late.count, from: address)
        }
        for address in waiting.keys {
            steps += fill(first: address, now: now)
            while waiting[address] != nil, let oldest = longestWithoutProgress(for: address, now: now) {
                steps.append(dismiss(oldest))
                steps += fill(first: address, lastComesFirst: true, now: now)
            }
        }
        return steps
    }

    private var reason: String {
        "too many connections whose peers have not logged in: \(limits.pendingMaxPerAddress) from one address and "
            + "\(limits.pendingMax) in all are served at a time"
    }
}

extension PendingConnections {
    private func hasPlace(for address: AddressKey) -> Bool {
        let count = counts[address] ?? 0
        guard count < limits.pendingMaxPerAddress else { return false }
        return pending.count < limits.pendingMax - (count == 0 ? 0 : limits.reserve)
    }

    private mutating func begin(_ id: ConnectionID, _ address: AddressKey, now: Int64) -> Step {
        pending[id] = Pending(address: address, begun: now, progressed: now)
        counts[address, default: 0] += 1
        return .begin(id)
    }

    private mutating func dismiss(_ id: ConnectionID) -> Step {
        _ = forget(id)
        return .dismiss(id, reason: reason)
    }

    /// The pending connection whose end makes a place for an address; nil while all have made progress lately.
    private func longestWithoutProgress(for address: AddressKey, now: Int64) -> ConnectionID? {
        let isOwnFault = counts[address] ?? 0 >= limits.pendingMaxPerAddress
        return pending.lazy
            .filter { (!isOwnFault || $0.value.address == address) && now - $0.value.progressed >= limits.patience }
            .min { ($0.value.progressed, $0.key.rawValue) < ($1.value.progressed, $1.key.rawValue) }?.key
    }

    private mutating func forget(_ id: ConnectionID) -> AddressKey? {
        guard let address = pending.removeValue(forKey: id)?.address else { return nil }
        counts[address] = counts[address].flatMap { $0 > 1 ? $0 - 1 : nil }
        return address
    }

    /// Gives free places to connections that wait, those of one address first.
    private mutating func fill(first: AddressKey, lastComesFirst: Bool = false, now: Int64) -> [Step] {
        guard waitingCount > 0 else { return [] }
        var steps: [Step] = []
        for address in [first] + waiting.keys.filter({ $0 != first }) {
            while let next = lastComesFirst ? waiting[address]?.last : waiting[address]?.first, hasPlace(for: address) {
                removeWaiting(1, from: address, atEnd: lastComesFirst)
                steps.append(begin(next.id, address, now: now))
            }
            if pending.count >= limits.pendingMax { break }
        }
        return steps
    }

    private mutating func removeWaiting(_ count: Int, from address: AddressKey, atEnd: Bool = false) {
        guard count > 0 else { return }
        waitingCount -= count
        if atEnd { waiting[address]?.removeLast(count) } else { waiting[address]?.removeFirst(count) }
        if waiting[address]?.isEmpty == true { waiting[address] = nil }
    }
}
