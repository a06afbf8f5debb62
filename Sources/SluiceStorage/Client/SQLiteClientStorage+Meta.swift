package import SluiceModel
package import SluiceWire

extension SQLiteClientStorage {
    /// The client's identity at its server, and how far it has synced; nil before the first login.
    package var syncState: SyncState? { state.syncState }

    package func setSyncState(_ syncState: SyncState?) throws {
        try requireTransaction()
        if let syncState {
            try meta.set("sync", syncState.wireBytes())
        } else {
            try meta.remove("sync")
        }
        state.syncState = syncState
    }

    /// The last tick of the hybrid clock.
    package var clock: HybridTimestamp { state.clock }

    package func setClock(_ clock: HybridTimestamp) throws {
        try requireTransaction()
        state.clock = clock
    }

    /// Small values that the store keeps for the engine, by name.
    package func metadata(_ name: String) throws -> [UInt8]? { try meta.blob("engine." + name) }

    package func setMetadata(_ name: String, _ bytes: [UInt8]?) throws {
        try requireTransaction()
        if let bytes { try meta.set("engine." + name, bytes) } else { try meta.remove("engine." + name) }
    }
}

extension SyncState: WireCodable {
    package func encode(into writer: inout ByteWriter) {
        databaseID.encode(into: &writer)
        writer.varint(epoch)
        writer.varint(clientID)
        nonce.encode(into: &writer)
        writer.varint(version)
    }

    package init(from reader: inout ByteReader) throws(WireError) {
        let databaseID = try ObjectID(from: &reader)
        let epoch = try reader.varint()
        let clientID = try reader.varint()
        let nonce = try ObjectID(from: &reader)
        self.init(
            databaseID: databaseID, epoch: epoch, clientID: clientID, nonce: nonce, version: try reader.varint())
    }
}

extension ClientState {
    /// Reads the state of a database, except for its schema.
    init(stored connection: SQLiteConnection) throws {
        let meta = MetaTable(connection)
        let file = connection.name
        generation = try meta.integer("generation") ?? 0
        syncState = try meta.blob("sync").map { bytes in
            try StoredBlob.decode(SyncState.self, from: bytes, file: file, what: "the sync state")
        }
        clock = HybridTimestamp(microseconds: try meta.integer("clock", in: StoredNumber.times) ?? 0)
        lastSequence = UInt64(try meta.integer("lastSequence") ?? 0)
        outboxCount = Int(try connection.integer("SELECT count(*) FROM _outbox") ?? 0)
        guard UInt64(outboxCount) <= lastSequence else {
            throw Self.damaged("what counts the writes", connection)
        }
        try loadSubscriptions(connection)
        try loadFigures(meta, file: file)
        try loadMembers(connection)
    }

    private mutating func loadSubscriptions(_ connection: SQLiteConnection) throws {
        let sql = """
            SELECT id, query, hash, class, state, version, created, updated, dormant, holes, staging \
            FROM _subscriptions ORDER BY id
            """
        try connection.withStatement(sql) { statement in
            while try statement.step() {
                let id = try statement.number(0, file: connection.name, what: "the id of a subscription")
                guard let hash = statement.objectID(2),
                    let stored = UInt8(exactly: statement.int(4)).flatMap(SubscriptionRecord.State.init(rawValue:))
                else { throw Self.damaged("a subscription", connection) }
                let times = try [6, 7].map { column in
                    Timestamp(
                        microseconds: try statement.number(
                            column, in: StoredNumber.times, file: connection.name, what: "the time of a subscription"))
                }
                let record = SubscriptionRecord(
                    id: UInt64(id), canonicalText: statement.string(1), hash: hash,
                    className: statement.string(3), state: stored, version: UInt64(bitPattern: statement.int(5)),
                    createdAt: times[0], updatedAt: times[1], isDormant: statement.int(8) != 0,
                    hasHoles: statement.int(9) != 0)
                subscriptions[record.id] = record
                if statement.int(10) != 0 { staging[record.id] = true }
            }
        }
    }

    private mutating func loadFigures(_ meta: MetaTable, file: String) throws {
        func values(_ bytes: [UInt8]) throws -> [Value] {
            try StoredBlob.decode(
                StoredFigures.self, from: bytes, file: file, what: "the figures of a subscription"
            ).values
        }
        var parts: [UInt64: [Int: [Value]]] = [:]
        for (name, bytes) in try meta.blobs(beginning: StoredFigures.prefix) {
            guard let place = StoredFigures.place(name) else { continue }
            parts[place.subscription, default: [:]][place.part] = try values(bytes)
        }
        for (id, parts) in parts {
            guard var record = subscriptions[id] else { continue }
            let sorted = parts.sorted { $0.key < $1.key }
            guard sorted.map(\.key) == Array(sorted.indices) else {
                throw StorageError.damaged(file, "the figures of a subscription are not all there")
            }
            record.figures = sorted.flatMap(\.value)
            subscriptions[id] = record
        }
    }

    private mutating func loadMembers(_ connection: SQLiteConnection) throws {
        let sql = "SELECT subscription, staged, class, role, chunk, rows FROM _members"
        try connection.withStatement(sql) { statement in
            while try statement.step() {
                guard let role = UInt8(exactly: statement.int(3)).flatMap(MemberRole.init(rawValue:)),
                    let chunk = RowChunk(base: statement.int(4), bytes: statement.blob(5)),
                    0...RowChunk.baseMax ~= chunk.base, let classIndex = Int(exactly: statement.int(2)), classIndex >= 0
                else { throw Self.damaged("a membership", connection) }
                let place = Memberships.Place(
                    subscription: UInt64(clamping: statement.int(0)), isStaged: statement.int(1) != 0,
                    classIndex: classIndex, role: role)
                members.load(chunk, at: place)
            }
        }
    }

    private static func damaged(_ what: String, _ connection: SQLiteConnection) -> StorageError {
        .damaged(connection.name, "\(what) cannot be read", "remove the file to start afresh")
    }
}
