import SluiceModel
import SluiceServer
import SluiceWire
import Testing

/// Several sessions that subscribe to one query: who is told of a commit.
@Suite struct ChangeReceiverTests {
    private let bench: Bench
    private let writer: SessionID
    private var sequence: UInt64 = 0

    init() throws {
        bench = try Bench()
        writer = try bench.open().id
        _ = try bench.upload(writer, [bench.planes(1)])
        sequence = 1
    }

    /// A session that subscribes to all planes, and has no pages yet.
    private func subscriber() throws -> SessionID {
        let id = try bench.open().id
        _ = try bench.handle([
            .messages(id, [.subscribe(.init(session: id.session, subscription: 1, query: "Plane"))])
        ])
        return id
    }

    /// Lets a session take its pages.
    private func complete(_ id: SessionID) throws {
        _ = try bench.handle([.messages(id, [.credit(session: id.session, pages: 8)])])
        _ = try bench.work()
    }

    /// The connections that are told of the next change.
    private mutating func receivers() -> Set<UInt64> {
        sequence += 1
        let changeset = Changeset(
            sequence: sequence, baseVersion: 0, timestamp: HybridTimestamp(microseconds: Int64(sequence)),
            operations: [ObjectOperation(ObjectRef(0, .int(1)), .update([FieldOperation(1, .add(.int(1)))]))])
        let upload = ClientMessage.upload(session: writer.session, changesets: [changeset])
        var told: Set<UInt64> = []
        for action in bench.engine.handle([.messages(writer, [upload])], now: bench.now) {
            switch action {
            case .send(_, let connection): told.insert(connection)
            case .broadcast(_, let connections): told.formUnion(connections)
            case .offer, .end, .consult: break
            }
        }
        return told.subtracting([writer.connection])
    }

    @Test mutating func thoseWhoAreCompleteAreToldWhoeverComesAndGoesBetweenCommits() throws {
        var ids: [SessionID] = []
        for _ in 0..<4 {
            ids.append(try subscriber())
            try complete(ids[ids.count - 1])
        }
        func connections(_ places: Int...) -> Set<UInt64> { Set(places.map { ids[$0].connection }) }
        #expect(receivers() == connections(0, 1, 2, 3))
        // Who waits for its pages gets the change in these.
        ids.append(try subscriber())
        #expect(receivers() == connections(0, 1, 2, 3))
        try complete(ids[4])
        #expect(receivers() == connections(0, 1, 2, 3, 4))
        _ = try bench.handle([.messages(ids[1], [.unsubscribe(session: ids[1].session, subscription: 1)])])
        #expect(receivers() == connections(0, 2, 3, 4))
        _ = try bench.handle([.closed(ids[0])])
        #expect(receivers() == connections(2, 3, 4))
        _ = try bench.handle([.closed(ids[2]), .closed(ids[3])])
        #expect(receivers() == connections(4))
        ids.append(try subscriber())
        #expect(receivers() == connections(4))
        try complete(ids[5])
        #expect(receivers() == connections(4, 5))
        _ = try bench.handle([.closed(ids[4]), .closed(ids[5])])
        #expect(receivers().isEmpty)
    }
}
