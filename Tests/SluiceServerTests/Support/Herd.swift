import Foundation
import SluiceModel
import SluiceQuery
import SluiceServer
import SluiceStorage
import SluiceWire
import Testing

/// Many sessions that ask the same query of planes, each at its own pace, beside one that writes.
final class Herd {
    /// What one session was sent of its subscription.
    struct Reader {
        let id: SessionID
        let subscription: UInt64
        var seats: [ObjectKey: Value] = [:]
        var isComplete = false
        /// The pages that it has taken and given no credit for.
        var owedCredit: UInt64 = 0
        /// The digest that it was sent last.
        var digest: ObjectID?
        /// Whether the server has asked it to list its members.
        var isAsked = false
    }

    let storage: SQLiteServerStorage
    let engine: DatabaseEngine
    /// The folder of the database; nil for one in memory, which has no other connection than its writer.
    private let folder: URL?
    /// What is to be read beside the writer, as of the time of the request.
    private(set) var readings: [QueryPreparation] = []
    /// Whether it is read only when the test says so.
    var delaysReadings = false
    /// How many commit messages the writer was sent.
    private(set) var acknowledgementCount = 0
    let writer = SessionID(connection: 1, session: 1)
    private var sequence: UInt64 = 0
    private var connection: UInt64 = 10
    private(set) var readers: [Reader] = []
    /// The frames with pages that the engine made, and the connections that each went to.
    private(set) var pageFrames: [[UInt64]] = []
    /// How many objects were in those pages.
    private(set) var pageRowCount = 0
    var now = Timestamp(microseconds: 1)

    init(planeCount: Int64, isFile: Bool = false, _ configure: (inout DatabaseLimits) -> Void = { _ in }) throws {
        folder = isFile ? FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString) : nil
        if let folder { try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true) }
        storage = try SQLiteServerStorage.open(
            folder.map { .file($0.path + "/planes") } ?? .memory, databaseID: ObjectID(high: 7, low: 7))
        var limits = DatabaseLimits()
        limits.pageRowCount = 10
        limits.server.pageCreditMax = 2
        limits.objectCountBeside = 10
        limits.pagesPerReading = 1
        configure(&limits)
        var state: UInt64 = 0
        engine = DatabaseEngine(name: "planes", storage: storage, limits: limits) {
            state += 1
            return state
        }
        try open(writer)
        try write(0..<planeCount, seats: 1)
    }

    deinit {
        engine.close()
        if let folder { try? FileManager.default.removeItem(at: folder) }
    }

    private func nextConnection() -> UInt64 {
        connection += 1
        return connection
    }

    private func open(_ id: SessionID) throws {
        let schema = try Schema([
            ClassSchema(
                "Plane", primaryKey: "id",
                properties: [
                    Property("id", .scalar(.int)), Property("seats", .scalar(.int)), Property("note", .scalar(.int)),
                ])
        ])
        let open = ClientMessage.Open(session: id.session, path: "planes", schema: schema)
        try handle(.open(id, open, User(id: nil, mayExtendSchema: true)))
    }

    func handle(_ event: DatabaseEvent) throws {
        try take(engine.handle([event], now: now))
        try work()
    }

    private func work() throws {
        repeat {
            while engine.hasWork {
                try take(engine.step(now: now))
                while let reading = engine.takePreparation() ?? engine.takeReading() { readings.append(reading) }
            }
            if !delaysReadings { try readPage() }
        } while engine.hasWork
    }

    /// Reads what has waited longest, and gives it back.
    private func readPage() throws {
        guard !readings.isEmpty else { return }
        let reading = readings.removeFirst()
        reading.run()
        try take(engine.handle([.prepared(reading)], now: now))
    }

    /// Reads a page beside the writer, and sends what there is to send then.
    func read() throws {
        try readPage()
        try work()
    }

    private func take(_ actions: [DatabaseAction]) throws {
        for action in actions {
            switch action {
            case .send(let frame, let connection): try take(frame, [connection])
            case .broadcast(let frame, let connections), .offer(let frame, let connections):
                try take(frame, connections)
            case .consult: break
            case .end: Issue.record("a session ended")
            }
        }
    }

    private func take(_ frame: [UInt8], _ connections: [UInt64]) throws {
        let messages = try Frame.decode(frame, as: ServerMessage.self)
        if connections.contains(writer.connection) {
            acknowledgementCount += messages.count { if case .commit = $0 { true } else { false } }
        }
        if messages.contains(where: { if case .page = $0 { true } else { false } }) { pageFrames.append(connections) }
        for connection in connections {
            guard let position = readers.firstIndex(where: { $0.id.connection == connection }) else { continue }
            for message in messages { try take(message, &readers[position]) }
        }
    }

    private func take(_ message: ServerMessage, _ reader: inout Reader) throws {
        switch message {
        case .page(let page):
            #expect(page.session == reader.id.session && page.subscriptions == [reader.subscription])
            #expect(page.version == storage.version)
            reader.owedCredit += 1
            pageRowCount += page.content.objects.count
            try apply(page.content, to: &reader, isPage: true)
        case .complete(let complete):
            #expect(complete.subscription == reader.subscription && !reader.isComplete)
            reader.isComplete = true
            reader.digest = complete.digest ?? reader.digest
        case .listMembers: reader.isAsked = true
        case .digest(let check):
            #expect(check.version == storage.version)
            reader.digest = check.digest
        case .commit(let commit):
            for block in commit.blocks where block.subscriptions.contains(reader.subscription) {
                try apply(block.content, to: &reader, isPage: false)
            }
        default: break
        }
    }

    private func apply(_ block: ViewBlock, to reader: inout Reader, isPage: Bool) throws {
        for departure in block.departures { reader.seats[departure.object.key] = nil }
        for row in block.objects.rows {
            // The client may hold the object in a later state, so a page must not bring an earlier one.
            let stored = try storage.row(row.object)
            if isPage { #expect(stored?.version == row.version, "\(row.object) in a page is out of date") }
            guard let position = Array(row.properties).firstIndex(of: 1) else { continue }
            reader.seats[row.object.key] = row.values[position]
        }
    }

    // MARK: Writing

    func write(_ keys: some Sequence<Int64>, seats: Int64) throws { try write(keys, 1, seats) }

    /// Changes a property that the herd's query does not include.
    func note(_ keys: some Sequence<Int64>, _ note: Int64) throws { try write(keys, 2, note) }

    private func write(_ keys: some Sequence<Int64>, _ property: Int, _ value: Int64) throws {
        try upload(
            keys.map {
                ObjectOperation(ObjectRef(0, .int($0)), .create([FieldOperation(property, .set(.int(value)))]))
            })
    }

    func delete(_ keys: some Sequence<Int64>) throws {
        try upload(keys.map { ObjectOperation(ObjectRef(0, .int($0)), .delete) })
    }

    private func upload(_ operations: [ObjectOperation]) throws { try handle(uploading(operations)) }

    /// The event of a write of the herd's writer.
    func writing(_ keys: some Sequence<Int64>, seats: Int64) -> DatabaseEvent {
        uploading(
            keys.map { ObjectOperation(ObjectRef(0, .int($0)), .create([FieldOperation(1, .set(.int(seats)))])) })
    }

    private func uploading(_ operations: [ObjectOperation]) -> DatabaseEvent {
        sequence += 1
        let changeset = Changeset(
            sequence: sequence, baseVersion: storage.version,
            timestamp: HybridTimestamp(microseconds: Int64(sequence)), operations: operations)
        return .messages(writer, [.upload(session: 1, changesets: [changeset])])
    }

    /// Handles events as one batch, with a page that is read now in their midst.
    func handle(_ first: DatabaseEvent, readingAPageBefore second: DatabaseEvent) throws {
        let reading = readings.removeFirst()
        reading.run()
        try take(engine.handle([first, .prepared(reading), second], now: now))
    }

    // MARK: Reading

    /// Opens a session, and subscribes in it.
    func join(_ query: String = "Plane EXCLUDE(note)", session: UInt64 = 1, subscription: UInt64 = 1) throws {
        let id = SessionID(connection: nextConnection(), session: session)
        readers.append(Reader(id: id, subscription: subscription))
        try open(id)
        try handle(
            .messages(id, [.subscribe(.init(session: session, subscription: subscription, query: query))]))
    }

    /// Opens sessions, which then subscribe in one batch of events.
    func joinTogether(_ count: Int) throws {
        var events: [DatabaseEvent] = []
        for _ in 0..<count {
            let id = SessionID(connection: nextConnection(), session: 1)
            readers.append(Reader(id: id, subscription: 1))
            try open(id)
            events.append(
                .messages(id, [.subscribe(.init(session: 1, subscription: 1, query: "Plane EXCLUDE(note)"))]))
        }
        try take(engine.handle(events, now: now))
        try work()
    }

    /// Opens a session for somebody who had everything of a query and was away since, and who lists what it has, because
    /// the log is gone.
    ///
    /// - Parameters:
    ///   - reader: what it was when it left, and the version of then.
    ///   - order: gives the keys the order in which it lists them.
    func comeBack(
        _ reader: (seats: [ObjectKey: Value], version: UInt64), _ query: String = "Plane EXCLUDE(note)",
        listingIn order: ([ObjectKey]) -> [ObjectKey] = { $0 }
    ) throws {
        _ = try storage.trimLog(keepingVersions: 0, keepingBytes: 0, entriesMax: .max)
        let id = SessionID(connection: nextConnection(), session: 1)
        readers.append(Reader(id: id, subscription: 1, seats: reader.seats))
        let position = readers.count - 1
        try open(id)
        let resume = ClientMessage.Resume(
            version: reader.version, queryHash: try Query.parse(query, schema: storage.schema).hash,
            memberCount: UInt64(reader.seats.count))
        try handle(.messages(id, [.subscribe(.init(session: 1, subscription: 1, query: query, resume: resume))]))
        guard readers[position].isAsked else { return }
        var content = ObjectBlock()
        for key in order(reader.seats.keys.sorted()) {
            content.append(ObjectRef(0, key), version: reader.version, role: .root)
        }
        try handle(
            .messages(id, [.members(.init(session: 1, subscription: 1, isContinued: false, content: content))]))
    }

    /// Lets a minute pass, so that the digest of the next view is due.
    func checkDigests() throws {
        now = Timestamp(microseconds: now.microseconds + 61_000_000)
        try take(engine.checkSessions(now: now))
        while let reading = engine.takeReading() { readings.append(reading) }
    }

    /// Lets a reader give credit for the pages that it has.
    func credit(_ position: Int) throws {
        let reader = readers[position]
        guard reader.owedCredit > 0 else { return }
        readers[position].owedCredit = 0
        try handle(.messages(reader.id, [.credit(session: reader.id.session, pages: reader.owedCredit)]))
    }

    /// Ends a reader's session.
    ///
    /// - Returns: what it had, and of which version, if it had everything.
    @discardableResult
    func leave(_ position: Int) throws -> (seats: [ObjectKey: Value], version: UInt64)? {
        let reader = readers[position]
        try handle(.closed(reader.id))
        readers.remove(at: position)
        return reader.isComplete ? (reader.seats, storage.version) : nil
    }

    /// Lets all readers take what they are sent until they are complete.
    func finish() throws {
        for _ in 0..<1_000 where readers.contains(where: { !$0.isComplete }) {
            for position in readers.indices { try credit(position) }
            try read()
        }
    }

    /// Checks that all readers are complete and have what is stored.
    func check() throws {
        var stored: [ObjectKey: Value] = [:]
        try storage.forEachRow(ofClass: 0) { row in
            stored[row.key] = row.values[1]
            return true
        }
        for reader in readers {
            #expect(reader.isComplete)
            #expect(reader.seats == stored, "\(reader.id)")
        }
    }
}
