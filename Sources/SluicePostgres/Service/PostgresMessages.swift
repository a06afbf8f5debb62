#if PostgreSQL

internal import SluiceStorage

/// Carries ephemeral messages between the nodes of a cluster, by a table and bells.
struct PostgresMessages: MessageRelay {
    let places: JournalPlaces
    let bell: JournalBell
    let inbox: MessageInbox

    func send(_ messages: [[UInt8]], inDatabase name: String) {
        if let id = places.id(ofDatabase: name) { bell.send(messages, for: id) }
    }

    func receive(_ hear: @escaping @Sendable (_ messages: [[UInt8]], _ database: String) -> Void) { inbox.begin(hear) }
}

#endif
