import SluiceModel
import SluiceServer
import SluiceStorage
import SluiceWire
import Testing

/// Several subscriptions of one session that show the same object.
@Suite struct SharedChangeTests {
    private let engine: DatabaseEngine
    private let id = SessionID(connection: 1, session: 1)

    init() throws {
        let storage = try SQLiteServerStorage.open(.memory, databaseID: ObjectID(high: 7, low: 7))
        var state: UInt64 = 0
        engine = DatabaseEngine(name: "cars", storage: storage) {
            state += 1
            return state
        }
        let schema = try Schema([
            ClassSchema(
                "Car", primaryKey: "id",
                properties: [
                    Property("id", .scalar(.int)), Property("price", .scalar(.int)), Property("name", .scalar(.string)),
                ])
        ])
        let open = ClientMessage.Open(session: 1, path: "cars", schema: schema)
        _ = handle(.open(id, open, User(id: nil, mayExtendSchema: true)))
        write(1, .create([FieldOperation(1, .set(.int(5))), FieldOperation(2, .set(.string("a")))]))
        let car = Identity(className: "Car", key: .int(1)).objectID
        for (number, query) in ["Car", "Car WHERE price > 1", "OBJECT(\(car))", "Car EXCLUDE(name)"].enumerated() {
            let subscribe = ClientMessage.Subscribe(session: 1, subscription: UInt64(number + 1), query: query)
            _ = handle(.messages(id, [.subscribe(subscribe)]))
        }
        while engine.hasWork {
            _ = engine.step(now: Timestamp(microseconds: 1))
            _ = handle(.messages(id, [.credit(session: 1, pages: 8)]))
        }
    }

    private func handle(_ event: DatabaseEvent) -> [DatabaseAction] {
        engine.handle([event], now: Timestamp(microseconds: 1))
    }

    @discardableResult
    private func write(_ sequence: UInt64, _ action: ObjectOperation.Action) -> [DatabaseAction] {
        let changeset = Changeset(
            sequence: sequence, baseVersion: 0, timestamp: HybridTimestamp(microseconds: Int64(sequence)),
            operations: [ObjectOperation(ObjectRef(0, .int(1)), action)])
        return handle(.messages(id, [.upload(session: 1, changesets: [changeset])]))
    }

    private func blocks(_ actions: [DatabaseAction]) throws -> [ServerMessage.SubscriptionBlock] {
        var blocks: [ServerMessage.SubscriptionBlock] = []
        for case .send(let frame, _) in actions {
            for case .commit(let commit) in try Frame.decode(frame, as: ServerMessage.self) { blocks += commit.blocks }
        }
        return blocks
    }

    @Test func aChangeThatAllShowTravelsOnce() throws {
        let blocks = try blocks(write(2, .update([FieldOperation(1, .set(.int(9)))])))
        #expect(blocks.count == 1 && blocks.first?.subscriptions.sorted() == [1, 2, 3, 4])
        #expect(blocks.first?.content.objects.count == 1)
        #expect(engine.statistics.sentBlockCount == 1)
    }

    @Test func aChangeThatSomeShowOtherwiseTravelsForThoseApart() throws {
        let changes = [FieldOperation(1, .set(.int(8))), FieldOperation(2, .set(.string("b")))]
        let blocks = try blocks(write(2, .update(changes)))
        #expect(Set(blocks.map { $0.subscriptions.sorted() }) == [[1, 2, 3], [4]])
        let leaving = try self.blocks(write(3, .update([FieldOperation(1, .set(.int(0)))])))
        #expect(Set(leaving.map { $0.subscriptions.sorted() }) == [[1, 3, 4], [2]])
    }
}
