#if PostgreSQL

internal import Dispatch
internal import Synchronization

/// A server of an address that takes writes. There should be one; an old primary that came back is another.
struct Primary {
    let host: PostgresAddress.Host
    let connection: PostgresConnection
    let greeting: Greeting

    /// All of them, in the order of the address. Those that do not answer are left out. Asks all hosts at once, each with
    /// the time limit of a connection.
    static func find(all address: PostgresAddress, timeouts: PostgresTimeouts, stop: StopSignal) -> [Primary] {
        let each = Array(zip(address.hosts, address.ofEach))
        let found = Mutex([Primary?](repeating: nil, count: each.count))
        DispatchQueue.concurrentPerform(iterations: each.count) { index in
            guard let connection = try? PostgresConnection(to: each[index].1, timeouts: timeouts, stop: stop),
                let greeting = try? Greeting(connection, timeouts: timeouts)
            else { return }
            let primary = Primary(host: each[index].0, connection: connection, greeting: greeting)
            found.withLock { $0[index] = primary }
        }
        return found.withLock { $0.compactMap(\.self) }
    }
}

#endif
