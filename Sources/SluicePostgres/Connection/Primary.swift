#if PostgreSQL

/// A server of an address that takes writes. There should be one; an old primary that came back is another.
struct Primary {
    let host: PostgresAddress.Host
    let connection: PostgresConnection
    let greeting: Greeting

    /// All of them, in the order of the address. Those that do not answer are left out. O(hosts) connects.
    static func find(all address: PostgresAddress, timeouts: PostgresTimeouts, stop: StopSignal) -> [Primary] {
        zip(address.hosts, address.ofEach).compactMap { host, alone in
            guard let connection = try? PostgresConnection(to: alone, timeouts: timeouts, stop: stop),
                let greeting = try? Greeting(connection, timeouts: timeouts)
            else { return nil }
            return Primary(host: host, connection: connection, greeting: greeting)
        }
    }
}

#endif
