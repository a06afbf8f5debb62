internal import SluiceModel
internal import SluiceStorage
internal import SluiceWire

/// The open sessions of a database: who their clients are, what they may upload, and why they end.
final class Sessions {
    private let database: Database
    private let clients: ClientRegistry
    private var open: [SessionID: ServerSession] = [:]
    /// The last session that each client has opened, while it is open.
    private var ofClient: [UInt64: SessionID] = [:]
    /// Short-lived clients that have closed their sessions, each with the nonce that it was offered last.
    private var departed: [(client: UInt64, offer: ObjectID)] = []

    /// - Parameter random: makes random numbers for nonces.
    init(_ database: Database, random: @escaping () -> UInt64) {
        self.database = database
        clients = ClientRegistry(database, random: random)
    }

    var count: Int { open.count }

    /// The open sessions, ascending.
    var ids: [SessionID] { open.keys.sorted() }

    /// The clients that have a session now.
    var connectedClients: [UInt64] { Array(ofClient.keys) }

    subscript(id: SessionID) -> ServerSession? { open[id] }

    // MARK: Opening and closing

    /// A session that is about to be opened.
    struct Opening {
        let session: ServerSession
        let messages: [ServerMessage]
        /// An open session of the same client, which ends.
        let superseded: SessionID?
    }

    /// Identifies the clients that come in one turn, with one group of the journal.
    func identify(_ requests: [ClientRegistry.Request], now: Timestamp) -> [ClientRegistry.Answer] {
        clients.identify(requests, now: now)
    }

    /// Opens the session of a client that is identified.
    ///
    /// - Throws: ``StorageError`` when the client's rejections cannot be read; nothing was opened then.
    func open(
        _ id: SessionID, _ request: ClientRegistry.Request, as client: ClientRegistry.Identified
    ) throws -> Opening {
        let storage = database.storage
        let open = request.open
        let clientID = request.isReadOnly || client.record.id == 0 ? nil : client.record.id
        // The client comes back on a new connection before the server has noticed the end of the old one.
        let superseded = clientID.flatMap { ofClient[$0] }
        let session = ServerSession(
            id: id, user: request.user, isReadOnly: request.isReadOnly, clientID: clientID,
            isShortLived: open.options.contains(.shortLived),
            unconfirmedNonce: clientID == nil || client.isUnstored ? nil : client.offer,
            // A client whose history was undone continues its own numbers. What it knows to be settled it never sends
            // again, though this database may have lost it.
            receivedSequence: client.outcome == .resumed ? max(client.record.sequence, open.acknowledged) : 0)
        let identity = ClientIdentity(
            databaseID: storage.databaseID, epoch: storage.epoch, clientID: client.record.id, nonce: client.offer)
        let opened = ServerMessage.Opened(
            session: id.session, identity: identity, outcome: client.outcome, version: storage.version,
            acknowledged: client.record.sequence,
            rejections: clientID != nil && storage.damage == nil
                ? try storage.rejections(of: client.record.id).map { try ServerMessage.Rejection(wireBytes: $0) } : [],
            userID: request.user.id, schema: open.schema == storage.schema ? nil : storage.schema)
        var messages = [ServerMessage.opened(opened)]
        self.open[id] = session
        if let clientID { ofClient[clientID] = id }
        if client.isUnstored, let error = database.obstacle.error { messages += holdBack(session, because: error) }
        return Opening(session: session, messages: messages, superseded: superseded)
    }

    /// The session of a client; nil if it has none here.
    func session(ofClient id: UInt64) -> SessionID? { ofClient[id] }

    /// Removes a session.
    ///
    /// - Returns: whether it was open.
    func remove(_ id: SessionID) -> Bool {
        guard let session = open.removeValue(forKey: id) else { return false }
        if let clientID = session.clientID, ofClient[clientID] == id { ofClient[clientID] = nil }
        return true
    }

    /// Why a session ends after an error, which is logged unless the client is to blame. The client tries again, unless
    /// the database is damaged.
    func ending(after error: any Error, _ what: String) -> SessionEnd {
        if let end = error as? SessionEnd { return end }
        if let error = error as? SchemaError {
            return SessionEnd(
                error.code == .notAllowed ? .permissionDenied : .incompatibleSchema, error.message, action: .stop)
        }
        database.noteFailure(what, error)
        return SessionEnd(because: error, database.unusable(because: error))
    }

    /// Notes that the client has closed its session itself, so that a short-lived one is forgotten.
    func noteDeparture(of session: ServerSession) {
        guard session.isShortLived, let clientID = session.clientID, let offer = offer(to: clientID) else { return }
        departed.append((clientID, offer))
    }

    private func offer(to client: UInt64) -> ObjectID? { (try? database.storage.client(client))?.offer }

    /// Removes the records of short-lived clients that have left, but for those that have come again, here or at another
    /// engine: they were offered another nonce. A record that stays because of an error expires like
    /// that of any client.
    func forgetDeparted() {
        guard !departed.isEmpty else { return }
        let clients = departed
        departed = []
        guard database.isWritable else { return }
        do {
            try database.transaction {
                try database.storage.removeClients(clients.filter { offer(to: $0.client) == $0.offer }.map(\.client))
            }
        } catch {
            database.noteFailure("clients could not be forgotten", error)
        }
    }

    /// What the first message after the opening proves: the client has stored the nonce that it was offered.
    ///
    /// - Returns: the step that says so, once; nil for a client without a record, and while nothing can be written: then a
    ///   later message proves it.
    func confirmation(from session: ServerSession) -> JournalStep? {
        guard database.isWritable, let nonce = session.unconfirmedNonce, let clientID = session.clientID else {
            return nil
        }
        session.unconfirmedNonce = nil
        return .nonce(client: clientID, nonce)
    }

    // MARK: Uploads

    /// Whether a session's uploads are taken at the moment.
    ///
    /// - Returns: true, or false and what its client is to be told now.
    func takesUploads(of session: ServerSession) -> (Bool, [ServerMessage]) {
        if let damage = database.storage.damage, !session.isReadOnly {
            return (false, refuseUploads(of: session, because: damage))
        }
        let isHeldBack = session.uploads == .heldBack
        if let error = database.obstacle.error, !session.isReadOnly, isHeldBack || database.mustNotTry {
            return (false, holdBack(session, because: error))
        }
        return (session.uploads == .accepted, [])
    }

    /// Drops what a session uploads from now on. What is not acknowledged, the client keeps.
    ///
    /// - Returns: what its client is to be told, once.
    func holdBack(_ session: ServerSession, because error: StorageError) -> [ServerMessage] {
        guard session.uploads == .accepted else { return [] }
        session.become(.heldBack)
        let message = Consequence.sentence(
            "the server cannot write its database, and takes uploads once it can", of: database.name, because: error)
        return [.error(.init(session: session.id.session, code: .internalError, message: message, action: .report))]
    }

    /// Drops what a session uploads from now on, since the database is damaged. The client keeps it, and the session
    /// continues.
    ///
    /// - Returns: what its client is to be told, once.
    func refuseUploads(of session: ServerSession, because error: StorageError) -> [ServerMessage] {
        guard session.uploads != .refused else { return [] }
        session.become(.refused)
        let message =
            "\(Consequence.damage(of: database.name, error)) and takes no writes before it is restored; the client "
            + "keeps what it has written"
        return [.error(.init(session: session.id.session, code: .databaseDamaged, message: message, action: .report))]
    }
}
