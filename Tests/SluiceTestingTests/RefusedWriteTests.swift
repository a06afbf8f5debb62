import Sluice
import SluiceModel
import SluiceQuery
import SluiceStorage
import SluiceWire
import Testing

/// A client's engine against a server that says what the test wants.
@Suite struct RefusedWriteTests {
    private final class Reports {
        var rejections: [WriteRejection] = []
        var events: [ResultEvent] = []
    }

    private static let identity = ClientIdentity(
        databaseID: ObjectID(high: 1, low: 1), epoch: 1, clientID: 1, nonce: ObjectID(high: 2, low: 2))

    private let storage: SQLiteClientStorage
    private let engine: ClientEngine
    private let reports = Reports()
    private let object = ObjectRef(0, .int(1))

    init() throws {
        storage = try SQLiteClientStorage.open(.memory)
        let schema = try Schema([
            ClassSchema(
                "User", primaryKey: "id", properties: [Property("id", .scalar(.int)), Property("age", .scalar(.int))])
        ])
        try storage.begin()
        _ = try storage.merge(schema, sides: ("the store", "the models"))
        try storage.commit()
        var options = ClientEngine.Options()
        options.databaseName = "test"
        engine = try ClientEngine(
            storage: storage, options: options, now: { Timestamp(microseconds: 1) }, random: { 1 })
        engine.onRejection = { [reports] in reports.rejections.append($0) }
        let query = try Query.parse("User", schema: schema)
        _ = try engine.observe(query) { [reports] in reports.events.append($0) }
        engine.handle(.start)
        engine.handle(.opened)
        let opened = ServerMessage.Opened(
            session: 1, identity: Self.identity, outcome: .created, version: 3, schema: schema)
        var content = ViewBlock()
        let row = Row(key: object.key, version: 2, values: [.int(1), .int(40)])
        content.objects.append(row, classIndex: 0, role: .root, properties: [0, 1])
        receive([.opened(opened)])
        receive([
            .page(.init(session: 1, subscriptions: [1], version: 3, progress: 1, content: content)),
            .complete(
                .init(
                    session: 1, subscription: 1, version: 3, acceptedAt: Timestamp(microseconds: 1), kind: .bootstrap)),
        ])
    }

    private func receive(_ messages: [ServerMessage]) {
        var frame = FrameBuilder()
        for message in messages { frame.append(message) }
        engine.handle(.received(frame.finish()))
    }

    private func refuse(_ sequence: UInt64) {
        let reason = ServerMessage.Refusal.Reason(object: object, code: .invalidOperation, message: "too old")
        var frame = FrameBuilder()
        frame.append(ServerMessage.rejected(.init(session: 1, refusal: .init(sequence: sequence, reasons: [reason]))))
        frame.appendCommit(
            CommitHeader(
                session: 1, version: 3, acceptedAt: Timestamp(microseconds: 1), acknowledged: sequence,
                isContinued: false), blocks: [])
        engine.handle(.received(frame.finish()))
    }

    private var age: Value? { get throws { try storage.row(object)?.values[1] } }

    @Test func aRefusedUpdateIsTakenBackInOneCommitAndReported() throws {
        try engine.write { try $0.update(object, [FieldOperation(1, .set(.int(999)))]) }
        #expect(try age == .int(999))
        refuse(1)
        #expect(try age == .int(40))
        #expect(storage.outboxCount == 0)
        let rejection = try #require(reports.rejections.first)
        #expect(reports.rejections.count == 1 && rejection.reason.code == .writeRejected)
        #expect(rejection.object == Identity(className: "User", key: .int(1)))
        #expect(rejection.refusedValues == ["age": .int(999)])
    }

    @Test func aRefusedCreationDisappears() throws {
        let other = ObjectRef(0, .int(2))
        try engine.write { try $0.insert(Row(key: other.key, values: [.int(2), .int(5)]), ofClass: 0) }
        refuse(1)
        #expect(try storage.row(other) == nil)
        #expect(try age == .int(40))
    }

    @Test func laterWritesStayWhenAnEarlierOneIsRefused() throws {
        try engine.write { try $0.update(object, [FieldOperation(1, .set(.int(999)))]) }
        try engine.write { try $0.update(object, [FieldOperation(1, .add(.int(1)))]) }
        refuse(1)
        #expect(try age == .int(41))
        #expect(storage.outboxCount == 1)
    }

    @Test func aRefusalThatWasLostWithItsConnectionIsHeardOfInTheNextSession() throws {
        try engine.write { try $0.update(object, [FieldOperation(1, .set(.int(999)))]) }
        engine.handle(.closed(reason: "cut", isTransient: true))
        engine.handle(.reconnect)
        engine.handle(.opened)
        let reason = ServerMessage.Refusal.Reason(object: object, code: .invalidOperation, message: "too old")
        receive([
            .opened(
                .init(
                    session: 1, identity: Self.identity, outcome: .resumed, version: 3, acknowledged: 1,
                    refusals: [.init(sequence: 1, reasons: [reason])], schema: storage.schema)),
            .complete(
                .init(
                    session: 1, subscription: 1, version: 3, acceptedAt: Timestamp(microseconds: 1), kind: .resumed)),
        ])
        #expect(try age == .int(40))
        #expect(storage.outboxCount == 0)
        #expect(reports.rejections.map(\.refusedValues) == [["age": .int(999)]])
    }

    @Test func aRefusalTellsObserversOnce() throws {
        try engine.write { try $0.update(object, [FieldOperation(1, .set(.int(999)))]) }
        for id in 1...8 { engine.observerIsReady(UInt64(id)) }
        let count = reports.events.count
        refuse(1)
        for id in 1...8 { engine.observerIsReady(UInt64(id)) }
        #expect(reports.events.count == count + 1)
        #expect(reports.events.last?.remote != nil)
        #expect(reports.events.last?.list.entries.first?.row.values == [.int(1), .int(40)])
    }
}
