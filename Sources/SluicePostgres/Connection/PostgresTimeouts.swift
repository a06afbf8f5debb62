#if PostgreSQL

/// How long a node waits for PostgreSQL, and how often it asks.
package struct PostgresTimeouts: Sendable {
    /// How long a statement may take, and how long a transaction may stand still, before PostgreSQL ends it. So long a
    /// node that has stopped keeps others from a database.
    package var statement = Duration.seconds(5)
    /// How long a lock may be waited for: a little shorter, so that PostgreSQL says which of both it was.
    var lock: Duration { statement * 0.9 }
    /// How long an answer may take, from the last byte that was sent on.
    package var answer = Duration.seconds(5)
    /// How long one server may take to accept a connection.
    package var connect = Duration.seconds(5)
    /// How long an append of unknown outcome is tried again.
    package var patience = Duration.seconds(5)
    /// The first wait before a server that did not answer is tried again; each further one is twice as long.
    package var reconnectMin = Duration.milliseconds(100)
    /// The longest such wait: writes go on so soon after a server is up, however long it was away.
    package var reconnectMax = Duration.seconds(1)
    /// How often the head is asked for, where a bell may have been lost: of a journal that was active within the last ten
    /// seconds, and of another one.
    package var pollActive = Duration.milliseconds(250)
    package var pollQuiet = Duration.seconds(2)
    /// How often the node says that it is alive.
    package var heartbeat = Duration.seconds(3)

    package init() {}
}

extension Duration {
    /// Whole milliseconds, as PostgreSQL's settings have them; at least one, since zero turns a limit off.
    var milliseconds: Int64 { max(1, Int64(self / .milliseconds(1))) }

    var microseconds: Int64 { Int64(self / .microseconds(1)) }
}

#endif
