import Sluice
import SluiceModel
import SluiceStorage
import SluiceTesting
import SluiceWire
import TestSupport
import Testing

/// A client with a long backlog on one object, which its server acknowledges part by part.
@Suite(.ownThread) struct OfflineBacklogTests {
    /// Counts how many pending operations are read while a server acknowledges a backlog of increments. Each part comes
    /// with the image after it.
    private func readCount(backlog count: Int, part: Int) throws -> Int {
        let server = try ScriptedSession()
        _ = try server.engine.observe(try server.query("User")) { _ in }
        server.open()
        server.bootstrap(1, [ScriptedSession.user(1, age: 0)])
        server.loseConnection()
        for _ in 0..<count { try server.engine.write { try $0.update(Self.user, [FieldOperation(1, .add(.int(1)))]) } }
        server.open(.resumed)
        server.receive([server.complete(1, .resumed)])
        for sequence in stride(from: part, through: count, by: part) {
            let version = UInt64(3 + sequence)
            server.commit(
                version, to: 1, [ScriptedSession.user(1, age: Int64(sequence), version: version)],
                acknowledged: UInt64(sequence))
            guard try server.age(of: 1) == .int(Int64(count)) else {
                Issue.record("of \(count) increments \(try server.age(of: 1) as Any) after \(sequence) acknowledged")
                break
            }
        }
        #expect(server.storage.outboxCount == 0)
        return server.engine.pendingReadCount
    }

    private static let user = ObjectRef(0, .int(1))

    @Test(arguments: [1, 10, 100]) func fourTimesTheBacklogIsAboutFourTimesTheReading(part: Int) throws {
        let small = try readCount(backlog: 500, part: part)
        let large = try readCount(backlog: 2_000, part: part)
        #expect(small >= 100)
        #expect(large < 6 * small, "\(small) operations read of a backlog of 500, \(large) of one of 2,000")
    }

    /// The visible row equals the server's image with each pending operation applied, whatever the operations.
    @Test(arguments: 0..<30) func whatIsShownIsTheServersImageWithEachPendingOperationOnIt(seed: Int) throws {
        var generator = SeededGenerator(seed: UInt64(seed))
        let server = try ScriptedSession { $0.backlogChangesetCountMin = 4 }
        _ = try server.engine.observe(try server.query("User")) { _ in }
        server.open()
        server.bootstrap(1, [ScriptedSession.user(1, age: 0)])
        server.loseConnection()
        func write() throws {
            try server.engine.write { writer in
                for _ in 0..<Int.random(in: 1...3, using: &generator) {
                    let number = Value.int(Int64.random(in: 1...9, using: &generator))
                    let row = Row(key: .int(1), values: [.int(1), number])
                    if try writer.row(Self.user) == nil {
                        try writer.insert(row, ofClass: 0)
                    } else if Int.random(in: 0..<8, using: &generator) == 0 {
                        try writer.delete(Self.user)
                    } else if Bool.random(using: &generator) {
                        try writer.update(Self.user, [FieldOperation(1, .add(number))])
                    } else {
                        try writer.update(Self.user, [FieldOperation(1, .set(number))])
                    }
                }
            }
        }
        for _ in 0..<Int.random(in: 5...60, using: &generator) { try write() }
        server.open(.resumed)
        server.receive([server.complete(1, .resumed)])
        var version: UInt64 = 4
        var acknowledged: UInt64 = 0
        while server.storage.outboxCount > 0 {
            if Int.random(in: 0..<4, using: &generator) == 0 { try write() }
            let age = Int64.random(in: 0...1_000, using: &generator)
            if Int.random(in: 0..<3, using: &generator) > 0 {
                acknowledged = min(
                    server.storage.lastSequence, acknowledged + UInt64.random(in: 1...6, using: &generator))
            }
            version += 1
            server.commit(
                version, to: 1, [ScriptedSession.user(1, age: age, version: version)],
                acknowledged: acknowledged == 0 ? nil : acknowledged)
            var expected: Value? = .int(age)
            for pending in try server.storage.pendingOperations(of: Self.user) {
                switch pending.operation.action {
                case .delete: expected = nil
                case .create(let fields):
                    for field in fields { expected = field.change.applied(to: expected ?? .int(0)) }
                case .update(let fields):
                    for field in fields { expected = expected.map(field.change.applied) }
                }
            }
            #expect(try server.age(of: 1) == expected)
        }
    }
}
