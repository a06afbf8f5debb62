internal import SluiceModel
internal import SluiceStorage
internal import SluiceWire

/// A session that is to be opened.
struct IncomingSession {
    let id: SessionID
    let client: ClientRegistry.Request
    /// Whose share of the server's work it takes.
    let holder: Holder
}

/// The way of a session from its request to its first answer: what its user may do is found, what it declares is added to
/// the schema, its client is identified, and it is open.
///
/// The clients that come one after the other are identified together, in one group of the journal.
extension DatabaseEngine {
    /// Takes a session in that is to be opened, or refuses it.
    func admit(_ arrival: IncomingSession, now: Timestamp) {
        let (id, open, user) = (arrival.id, arrival.client.open, arrival.client.user)
        do {
            try check(open.variables)
            if database.mayLack(open.schema) {
                // Those that came before belong to the schema before.
                openArrivals(now: now)
                commit(now: now)
                try permissions.open(id, user, variables: open.variables)
                let change = try database.extendSchema(by: open.schema) {
                    try bindAgain(arrival)
                    return permissions.mayChangeSchema(id, user) && !arrival.client.isReadOnly
                }
                try follow(change)
                // Everybody was bound anew where it has grown.
                try bindAgain(arrival)
            } else {
                if arrivals.isEmpty { commit(now: now) }
                try permissions.open(id, user, variables: open.variables)
            }
            arrivals.append(arrival)
        } catch { refuse(id, because: error) }
    }

    /// Finds what the user of a session may do that is to be opened, where what was found is followed no more: what others
    /// have appended may have brought another schema, or the first rules, before which nobody was bound.
    ///
    /// - Throws: why it cannot be found.
    private func bindAgain(_ arrival: IncomingSession) throws {
        if !permissions.isBound(arrival.id) {
            try permissions.open(arrival.id, arrival.client.user, variables: arrival.client.open.variables)
        }
        try permissions.confirm(arrival.id)
    }

    /// Opens the sessions that were taken in.
    func openArrivals(now: Timestamp) {
        guard !arrivals.isEmpty else { return }
        let schema = database.storage.schema
        commit(now: now, isPressing: true)
        let arrived = arrivals
        arrivals = []
        let clients = sessions.identify(arrived.map(\.client), now: now)
        let isOtherSchema = database.journal != nil && database.storage.schema != schema
        for (arrival, client) in zip(arrived, clients) {
            do {
                try bindAgain(arrival)
                // Others may have removed what it declares and the database had when it came.
                if isOtherSchema, database.mayLack(arrival.client.open.schema) { throw Self.schemaHasChanged }
                try self.open(arrival, as: client.get())
            } catch { refuse(arrival.id, because: error) }
        }
    }

    private func open(_ arrival: IncomingSession, as client: ClientRegistry.Identified) throws {
        let id = arrival.id
        let opening = try sessions.open(id, arrival.client, as: client)
        if let stale = opening.superseded { end(stale, Self.hasOpenedAnother) }
        subscriptions.open(
            id, holder: arrival.holder, access: permissions.binding(of: id), features: arrival.client.open.features)
        output.send(permissions.notice(of: id) + opening.messages, to: id)
    }

    private func refuse(_ id: SessionID, because error: any Error) {
        permissions.close(id)
        output.end(id, sessions.ending(after: error, "a session could not be opened"))
    }

    static var schemaHasChanged: SessionEnd {
        .init(.schemaChanged, "the database's schema has changed", action: .retry)
    }

    static var hasOpenedAnother: SessionEnd {
        .init(.protocolViolation, "the client has opened another session", action: .retry)
    }
}
