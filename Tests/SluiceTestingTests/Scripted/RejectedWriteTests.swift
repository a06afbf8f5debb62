import Sluice
import SluiceModel
import SluiceQuery
import SluiceStorage
import SluiceWire
import Testing

/// A client's engine against a server whose answers the test decides.
@Suite struct RejectedWriteTests {
    private final class Reports {
        var rejections: [WriteRejection] = []
        var events: [ResultEvent] = []
    }

    private let server: ScriptedSession
    private let reports = Reports()
    private let object = ObjectRef(0, .int(1))
    private let observation: UInt64
    private var engine: ClientEngine { server.engine }
    private var storage: SQLiteClientStorage { server.storage }

    init() throws {
        server = try ScriptedSession()
        server.engine.onRejection = { [reports] in reports.rejections.append($0) }
        observation = try server.engine.observe(try server.query("User")) { [reports] in reports.events.append($0) }
        server.open()
        server.bootstrap(1, [ScriptedSession.user(1, age: 40)])
    }

    private func refuse(_ sequence: UInt64) {
        let reason = ServerMessage.Rejection.Reason(object: object, code: .invalidOperation, message: "too old")
        server.receive([
            .rejected(.init(session: 1, rejection: .init(sequence: sequence, reasons: [reason]))),
            .commit(
                .init(
                    CommitHeader(
                        session: 1, version: 3, acceptedAt: ScriptedSession.now, acknowledged: sequence,
                        isContinued: false))),
        ])
    }

    private var age: Value? { get throws { try storage.row(object)?.values[1] } }

    @Test func aRejectedUpdateIsRevertedInOneCommitAndReported() throws {
        try engine.write { try $0.update(object, [FieldOperation(1, .set(.int(999)))]) }
        #expect(try age == .int(999))
        refuse(1)
        #expect(try age == .int(40))
        #expect(storage.outboxCount == 0)
        let rejection = try #require(reports.rejections.first)
        #expect(reports.rejections.count == 1 && rejection.reason.code == .writeRejected)
        #expect(rejection.object == Identity(className: "User", key: .int(1)))
        #expect(rejection.rejectedValues == ["age": .int(999)])
    }

    /// Two queries have the object, and the frame that resumes both tells for each that its last image is right.
    @Test func anObjectOfTwoQueriesIsHereAfterItsWriteWasRefusedWhileTheConnectionWasAway() throws {
        _ = try engine.observe(try server.query("User WHERE age > 1")) { _ in }
        server.bootstrap(2, [ScriptedSession.user(1, age: 40)])
        try engine.write { try $0.update(object, [FieldOperation(1, .set(.int(999)))]) }
        server.loseConnection()
        server.greet()
        let reason = ServerMessage.Rejection.Reason(object: object, code: .invalidOperation, message: "too old")
        server.opened(.resumed, acknowledged: 1, rejections: [.init(sequence: 1, reasons: [reason])])
        server.receive([server.complete(1, .resumed), server.complete(2, .resumed)])
        #expect(try age == .int(40))
        engine.observerIsReady(observation)
        #expect(reports.events.last?.list.visible.map { $0.row.values[1] } == [.int(40)])
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

    @Test func whatWasTakenStaysWhenALaterWriteIsRefusedAlsoWhereNothingIsSubscribed() throws {
        let server = try ScriptedSession()
        server.open()
        let other = ObjectRef(0, .int(2))
        try server.engine.write { try $0.insert(Row(key: other.key, values: [.int(2), .int(5)]), ofClass: 0) }
        try server.engine.write { try $0.update(other, [FieldOperation(1, .set(.int(999)))]) }
        func acknowledge(_ sequence: UInt64, _ messages: [ServerMessage] = []) {
            let header = CommitHeader(
                session: 1, version: 3 + sequence, acceptedAt: ScriptedSession.now, acknowledged: sequence,
                isContinued: false)
            server.receive(messages + [.commit(.init(header))])
        }
        acknowledge(1)
        #expect(try server.storage.row(other)?.values[1] == .int(999))
        let reason = ServerMessage.Rejection.Reason(object: other, code: .invalidOperation, message: "too old")
        acknowledge(2, [.rejected(.init(session: 1, rejection: .init(sequence: 2, reasons: [reason])))])
        #expect(try server.storage.row(other)?.values[1] == .int(5))
        #expect(server.storage.outboxCount == 0)
    }

    @Test func aRejectionThatWasLostWithItsConnectionIsHeardOfInTheNextSession() throws {
        try engine.write { try $0.update(object, [FieldOperation(1, .set(.int(999)))]) }
        server.loseConnection()
        server.greet()
        let reason = ServerMessage.Rejection.Reason(object: object, code: .invalidOperation, message: "too old")
        server.opened(.resumed, acknowledged: 1, rejections: [.init(sequence: 1, reasons: [reason])])
        server.receive([server.complete(1, .resumed)])
        #expect(try age == .int(40))
        #expect(storage.outboxCount == 0)
        #expect(reports.rejections.map(\.rejectedValues) == [["age": .int(999)]])
    }

    private func takeAllEvents() {
        var count: Int
        repeat {
            count = reports.events.count
            engine.observerIsReady(observation)
        } while reports.events.count > count
    }

    @Test func aRejectionTellsObserversOnce() throws {
        try engine.write { try $0.update(object, [FieldOperation(1, .set(.int(999)))]) }
        takeAllEvents()
        let count = reports.events.count
        refuse(1)
        takeAllEvents()
        #expect(reports.events.count == count + 1)
        #expect(reports.events.last?.remote != nil)
        #expect(reports.events.last?.list.entries.first?.row.values == [.int(1), .int(40)])
    }
}
