#if PostgreSQL

    import Foundation
    import SluiceModel
    import SluicePostgres
    import SluiceServer
    import SluiceStorage
    import SluiceWire

    /// One node of a cluster without sockets: an engine on its replica and the journal in PostgreSQL. Without a journal it is
    /// a server alone.
    final class BenchNode: @unchecked Sendable {
        // Sound because one thread at a time uses it.
        let engine: DatabaseEngine
        let storage: SQLiteServerStorage
        private var sequences: [Int: UInt64] = [:]
        private var time: Int64 = 1_700_000_000_000_000
        private let number: UInt64
        /// The text of each object that is created; empty for objects of numbers alone.
        var note: () -> String = { "" }

        /// The schema of all nodes.
        ///
        /// - Parameter hasNotes: whether objects have a text beside their numbers.
        static func schema(hasNotes: Bool) throws -> Schema {
            let numbers = ["id", "views", "price"].map { Property($0, .scalar(.int)) }
            let notes = hasNotes ? [Property("note", .scalar(.string))] : []
            return try Schema([ClassSchema("Car", primaryKey: "id", properties: numbers + notes)])
        }

        /// - Parameters:
        ///   - journals: the node's way to the journals; nil for a server alone.
        ///   - number: distinguishes the sessions of nodes.
        init(_ journals: PostgresJournals?, _ database: String, path: String, number: UInt64 = 0) throws {
            self.number = number
            let journal = try journals?.journal(ofDatabase: database)
            storage = try SQLiteServerStorage.open(
                .file(path), databaseID: try journal?.databaseID ?? ObjectID(high: 7, low: 7),
                durability: journal == nil ? .full : .process)
            var random = number << 32
            engine = DatabaseEngine(name: database, storage: storage, journal: journal) {
                random += 1
                return random
            }
        }

        private var now: Timestamp {
            time += 1
            return Timestamp(microseconds: time)
        }

        private func session(_ writer: Int) -> SessionID {
            SessionID(connection: number << 32 | UInt64(writer + 1), session: 1)
        }

        /// Opens a session for each writer.
        func open(_ writerCount: Int, hasNotes: Bool = false) throws {
            let schema = try Self.schema(hasNotes: hasNotes)
            for writer in 0..<writerCount {
                let open = ClientMessage.Open(session: 1, path: "cars", schema: schema)
                let user = User(id: nil, mayExtendSchema: true)
                _ = engine.handle([.open(session(writer), open, user)], now: now)
            }
            while engine.hasWork { _ = engine.step(now: now) }
        }

        /// Commits one transaction of each writer as one group.
        ///
        /// - Returns: whether all were acknowledged.
        @discardableResult
        func commit(_ writerCount: Int) throws -> Bool {
            let events = (0..<writerCount).map { writer -> DatabaseEvent in
                let sequence = (sequences[writer] ?? 0) + 1
                sequences[writer] = sequence
                let key = ObjectKey.int(Int64((Int(sequence) * 64 + writer) % 1_000) + Int64(number) * 1_000)
                let fields = [FieldOperation(1, .set(.int(Int64(sequence)))), FieldOperation(2, .set(.int(1)))]
                return upload(writer, sequence, [ObjectOperation(ObjectRef(0, key), .create(fields))])
            }
            let head = storage.head
            _ = engine.handle(events, now: now)
            return storage.head != head
        }

        /// Commits a transaction that creates many objects.
        func create(_ keys: Range<Int64>) throws {
            let sequence = (sequences[0] ?? 0) + 1
            sequences[0] = sequence
            let operations = keys.map { key in
                ObjectOperation(
                    ObjectRef(0, .int(1_000_000 + key)),
                    .create(fields(key)))
            }
            let head = storage.head
            _ = engine.handle([upload(0, sequence, operations)], now: now)
            try check(storage.head != head, is: true, "the creations are committed")
        }

        private func fields(_ key: Int64) -> [FieldOperation] {
            let numbers = [FieldOperation(1, .set(.int(key))), FieldOperation(2, .set(.int(1)))]
            let note = note()
            return note.isEmpty ? numbers : numbers + [FieldOperation(3, .set(.string(note)))]
        }

        private func upload(_ writer: Int, _ sequence: UInt64, _ operations: [ObjectOperation]) -> DatabaseEvent {
            let changeset = Changeset(
                sequence: sequence, baseVersion: storage.version, timestamp: HybridTimestamp(microseconds: time),
                operations: operations)
            return .messages(session(writer), [.upload(session: 1, changesets: [changeset])])
        }

        /// Follows the journal to its end.
        func follow() {
            _ = engine.handle([.journalGrew], now: now)
            while engine.hasWork { _ = engine.step(now: now) }
        }

        func close() { engine.close() }
    }

#endif
