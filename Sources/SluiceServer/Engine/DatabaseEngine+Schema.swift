internal import SluiceModel
internal import SluiceQuery
internal import SluiceStorage
internal import SluiceWire

/// What a change of the schema does to sessions and views.
extension DatabaseEngine {
    /// Adds classes that a client declares while it is connected.
    func declare(_ schema: Schema, by session: ServerSession) throws {
        try follow(database.extendSchema(by: schema) { try stillMayChangeSchema(session) })
        guard sessions[session.id] != nil else { return }
        output.send([.schema(session: session.id.session, schema: database.storage.schema)], to: session.id)
    }

    /// Removes an empty class or a property without values, and answers with the remaining schema.
    func remove(_ removal: ClientMessage.Removal, by session: ServerSession) throws {
        do {
            try database.remove(removal) { try stillMayChangeSchema(session) }
            let json = Array(try reports.schemaReport().text.utf8)
            output.send([.report(session: removal.session, request: removal.request, json: json)], to: session.id)
            try follow(.reshaped)
        } catch let error as SchemaError {
            let code: ErrorCode =
                switch error.code {
                case .notAllowed: .permissionDenied
                case .unknownClass, .unknownProperty: .unknownName
                default: .inUse
                }
            let failure = ServerMessage.ReportError(
                session: removal.session, request: removal.request, code: code, message: error.message)
            output.send([.reportError(failure)], to: session.id)
        }
    }

    /// Whether the user of a session may change the schema at the present state, to which others may have brought the
    /// database since the session has asked.
    ///
    /// - Throws: ``SessionEnd`` if the session has ended.
    private func stillMayChangeSchema(_ session: ServerSession) throws -> Bool {
        try checkGoesOn(session)
        return mayChangeSchema(session)
    }

    /// Checks that a session has not ended. What its user may do is not followed any more then, and what others have
    /// appended may have ended it.
    ///
    /// - Throws: ``SessionEnd``, which nobody is told, since the client was told why the session has ended.
    func checkGoesOn(_ session: ServerSession) throws {
        guard sessions[session.id] === session else {
            throw SessionEnd(.protocolViolation, "the session has ended", action: .retry)
        }
    }

    /// Brings what is in memory to a schema that has changed.
    func follow(_ change: SchemaChange) throws {
        switch change {
        case .none: break
        case .reshaped: beginSessionsAnew()
        case .grown:
            try lifecycle.grow()
            switchContexts(permissions.grow())
            housekeeping.indexes.replace(hub.all.lazy.map(\.query))
            for id in sessions.ids {
                output.send([.schema(session: id.session, schema: database.storage.schema)], to: id)
            }
        }
    }

    /// Ends every session and asks its client to open it again at once, because views, positions and rows in memory
    /// belong to the old schema.
    func beginSessionsAnew() {
        observers.failAll(ServerError(.database, "the database's schema has changed; observe the query again"))
        lifecycle.content.removeAll()
        permissions.forgetFacts()
        endAll(Self.schemaHasChanged)
    }

    // MARK: Reports

    var reports: Reports { Reports(database: database, indexes: housekeeping.indexes) }

    var facts: Reports.Facts {
        .init(
            sessionCount: sessions.count, subscriptionCount: subscriptions.count, views: Array(hub.all),
            statistics: statistics)
    }

    /// What the database has done since it was opened.
    package var statistics: DatabaseStatistics {
        var statistics = DatabaseStatistics()
        statistics.commits = committer.counts
        statistics.times = committer.meter.times
        statistics.refusedSubscriptionCount = subscriptions.quotaRefusalCount
        statistics.sentBlockCount = encodedBlockCount
        statistics.concernedViewCount = hub.concernedCount
        statistics.sentDigestCount = digests.sentCount
        lifecycle.content.addCounts(to: &statistics)
        return statistics
    }

    /// How many versions the log of transactions reaches back.
    var logVersionCount: UInt64 { database.storage.version - min(database.storage.logStart, database.storage.version) }

    /// What the encoded pages take that clients share, about, in bytes.
    package var sharedPageByteCount: Int { lifecycle.content.sharedPageByteCount }
}
