#if PostgreSQL

internal import SluiceModel

/// How an old primary that came back is noticed by who only asks.
extension PostgresCluster {
    /// Connects to the server of an address that has the newest history.
    ///
    /// - Returns: with it, warnings of those that are its old primaries.
    static func newest(
        _ address: PostgresAddress, _ timeouts: PostgresTimeouts
    ) throws(PostgresFailure) -> (connection: PostgresConnection, greeting: Greeting, warnings: [String]) {
        let found = primaries(of: address, timeouts)
        guard var newest = found.first else {
            let (connection, greeting) = try first(of: address, timeouts)
            return (connection, greeting, [])
        }
        for other in found where newest.greeting.history.isOlder(than: other.greeting.history) { newest = other }
        let warnings = found.filter { $0.greeting.history.isOlder(than: newest.greeting.history) }.map { old in
            warning(
                "\(old.host)", old.greeting.history,
                "\(newest.host) is on timeline \(newest.greeting.history.timeline), which the nodes use")
        }
        return (newest.connection, newest.greeting, warnings)
    }

    /// Connects to the only server of an address that takes writes.
    ///
    /// - Throws: ``PostgresFailure/unsuitable(_:)`` if there are several.
    static func only(
        of address: PostgresAddress, _ timeouts: PostgresTimeouts
    ) throws(PostgresFailure) -> (connection: PostgresConnection, greeting: Greeting) {
        let found = primaries(of: address, timeouts)
        guard found.count < 2 else {
            let places = found.map { "\($0.host) on timeline \($0.greeting.history.timeline)" }
            throw .unsuitable(
                "leads to several servers that take writes (\(places.joined(separator: ", "))); name the one alone that "
                    + "is to be the primary")
        }
        if let one = found.first { return (one.connection, one.greeting) }
        return try first(of: address, timeouts)
    }

    /// Connects to the first server of an address that takes writes. Throws why there is none.
    private static func first(
        of address: PostgresAddress, _ timeouts: PostgresTimeouts
    ) throws(PostgresFailure) -> (connection: PostgresConnection, greeting: Greeting) {
        let connection = try PostgresConnection(to: address, timeouts: timeouts, stop: StopSignal())
        return (connection, try Greeting(connection, timeouts: timeouts))
    }

    private static func primaries(of address: PostgresAddress, _ timeouts: PostgresTimeouts) -> [Primary] {
        address.hosts.count > 1 ? Primary.find(all: address, timeouts: timeouts, stop: StopSignal()) : []
    }

    /// The warning that nodes refuse a server, if some have said so there.
    ///
    /// - Parameter nodes: what `sluice.node` has, with the timeline that each has seen as column 6.
    static func refusal(
        of history: PostgresHistory, at address: PostgresAddress, _ nodes: PostgresResult
    ) -> String? {
        let refusing = (0..<nodes.rowCount).filter { nodes.integer(6, row: $0) > Int64(history.timeline) }
        guard let seen = refusing.map({ nodes.integer(6, row: $0) }).max() else { return nil }
        let names = refusing.map { nodes.text(0, row: $0) }.joined(separator: ", ")
        let place = address.hosts.map(\.description).joined(separator: ", ")
        return warning(place, history, "nodes that have seen timeline \(seen) refuse it (\(names))")
    }

    private static func warning(_ place: String, _ history: PostgresHistory, _ proof: String) -> String {
        "\(place) is an old primary: it is on timeline \(history.timeline), and \(proof). Stop it, or make it a standby of "
            + "the present primary, and name that one in --journal; if it shall be the primary again, stop the other, and "
            + "run `sluice cluster epoch` with its address"
    }
}

#endif
