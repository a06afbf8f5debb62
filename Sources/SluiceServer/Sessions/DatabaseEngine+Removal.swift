internal import SluiceModel
internal import SluiceStorage
internal import SluiceViews
internal import SluiceWire

extension DatabaseEngine {
    /// Removes an empty class or a property without values, and answers with the remaining schema.
    func remove(_ removal: ClientMessage.Removal, session: ServerSession) {
        guardingStorage(session) {
            do {
                try remove(removal, mayChange: session.user.mayExtendSchema && session.clientID != nil)
                let json = Array(try schemaReport().text.utf8)
                send([.report(session: removal.session, request: removal.request, json: json)], to: session.id)
                beginSessionsAnew()
            } catch let error as SchemaError {
                let failure = ServerMessage.ReportError(
                    session: removal.session, request: removal.request, code: Self.code(of: error),
                    message: error.message)
                send([.reportError(failure)], to: session.id)
            }
        }
    }

    private func remove(_ removal: ClientMessage.Removal, mayChange: Bool) throws {
        guard mayChange else {
            throw SchemaError(.notAllowed, "this session may not change the server's schema")
        }
        guard let classIndex = storage.schema.index(of: removal.className) else {
            throw SchemaError(.unknownClass, "the server has no class '\(removal.className)'")
        }
        guard let name = removal.property else {
            return try transaction { try storage.removeClass(classIndex) }
        }
        guard let property = storage.schema[classIndex].index(of: name) else {
            throw SchemaError(.unknownProperty, "the server's class '\(removal.className)' has no property '\(name)'")
        }
        try transaction { try storage.removeProperty(property, ofClass: classIndex) }
    }

    private static func code(of error: SchemaError) -> ErrorCode {
        switch error.code {
        case .notAllowed: .permissionDenied
        case .unknownClass, .unknownProperty: .unknownName
        default: .inUse
        }
    }

    /// Ends every session and asks its client to open it again at once, because views, positions and rows in memory
    /// belong to the old schema.
    func beginSessionsAnew() {
        views = [:]
        index = ViewIndex(schema: storage.schema)
        shapes = ViewShapes(schema: storage.schema)
        bootstrapping = []
        pageCache.removeAll()
        replays.removeAll()
        automaticIndexes = AutomaticIndexes(limits: limits.automaticIndexes)
        hasFoundIndexes = false
        for session in Array(sessions.values) {
            session.subscriptions = [:]
            end(session, .schemaChanged, "the database's schema has changed", action: .retry)
        }
    }
}
