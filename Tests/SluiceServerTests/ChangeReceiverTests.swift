import SluiceModel
import SluiceServer
import SluiceStorage
import SluiceWire
import Testing

/// Several sessions that subscribe to one query: who is told of a commit.
@Suite struct ChangeReceiverTests {
    private let engine: DatabaseEngine
    private let writer = SessionID(connection: 100, session: 1)

    init() throws {
        let storage = try SQLiteServerStorage.open(.memory, databaseID: ObjectID(high: 7, low: 7))
        var state: UInt64 = 0
        engine = DatabaseEngine(name: "cars", storage: storage) {
            state += 1
            return state
        }
        open(writer)
        write(1, .create([FieldOperation(1, .set(.int(5)))]))
    }

    private func session(_ number: UInt64) -> SessionID { SessionID(connection: number, session: 1) }

    @discardableResult
    private func handle(_ event: DatabaseEvent) -> [DatabaseAction] {
        engine.handle([event], now: Timestamp(microseconds: 1))
    }

    private func open(_ id: SessionID) {
        let schema = try? Schema([
            ClassSchema(
                "Car", primaryKey: "id",
                properties: [Property("id", .scalar(.int)), Property("price", .scalar(.int))])
        ])
        let open = ClientMessage.Open(session: 1, path: "cars", schema: schema ?? Schema())
        handle(.open(id, open, User(id: nil, mayExtendSchema: true)))
    }

    private func subscribe(_ number: UInt64) {
        open(session(number))
        handle(.messages(session(number), [.subscribe(.init(session: 1, subscription: 1, query: "Car"))]))
    }

    /// Lets a session take its pages.
    private func complete(_ number: UInt64) {
        handle(.messages(session(number), [.credit(session: 1, pages: 8)]))
        while engine.hasWork { _ = engine.step(now: Timestamp(microseconds: 1)) }
    }

    @discardableResult
    private func write(_ sequence: UInt64, _ action: ObjectOperation.Action) -> [DatabaseAction] {
        let changeset = Changeset(
            sequence: sequence, baseVersion: 0, timestamp: HybridTimestamp(microseconds: Int64(sequence)),
            operations: [ObjectOperation(ObjectRef(0, .int(1)), action)])
        return handle(.messages(writer, [.upload(session: 1, changesets: [changeset])]))
    }

    /// The connections that are told of a change.
    private func receivers(_ sequence: UInt64) -> Set<UInt64> {
        var told: Set<UInt64> = []
        for action in write(sequence, .update([FieldOperation(1, .set(.int(Int64(sequence))))])) {
            switch action {
            case .send(_, let connection) where connection != writer.connection: told.insert(connection)
            case .broadcast(_, let connections): told.formUnion(connections.filter { $0 != writer.connection })
            default: break
            }
        }
        return told
    }

    @Test func thoseWhoAreCompleteAreToldWhoeverComesAndGoesBetweenCommits() {
        for number in 1...4 as ClosedRange<UInt64> {
            subscribe(number)
            complete(number)
        }
        #expect(receivers(2) == [1, 2, 3, 4])
        // One that waits for its pages gets the change in these.
        subscribe(5)
        #expect(receivers(3) == [1, 2, 3, 4])
        complete(5)
        #expect(receivers(4) == [1, 2, 3, 4, 5])
        handle(.messages(session(2), [.unsubscribe(session: 1, subscription: 1)]))
        #expect(receivers(5) == [1, 3, 4, 5])
        handle(.closed(session(1)))
        #expect(receivers(6) == [3, 4, 5])
        for number in [3, 4] as [UInt64] { handle(.closed(session(number))) }
        #expect(receivers(7) == [5])
        subscribe(6)
        #expect(receivers(8) == [5])
        complete(6)
        #expect(receivers(9) == [5, 6])
        for number in [5, 6] as [UInt64] { handle(.closed(session(number))) }
        #expect(receivers(10) == [])
    }
}
