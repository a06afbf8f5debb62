import Sluice
import SluiceModel
import SluiceStorage
import SluiceWire
import Testing

/// What becomes of a transaction over which the server keeps ending the connection.
struct UploadQuarantineTests {
    private func uploads(_ server: ScriptedSession) -> [Changeset] {
        server.sent().flatMap { if case .upload(_, let changesets) = $0 { changesets } else { [Changeset]() } }
    }

    private func violation(_ server: ScriptedSession) {
        let failure = ServerMessage.Failure(
            code: .protocolViolation, message: "this frame cannot be read", action: .stop)
        server.receive([.error(failure)])
    }

    private func reject(_ sequence: UInt64, _ server: ScriptedSession) {
        let rejection = ServerMessage.Rejection(
            sequence: sequence, reasons: [.init(code: .invalidOperation, message: "there is no such class")])
        server.receive([.rejected(.init(session: 1, rejection: rejection))])
    }

    private func acknowledge(_ sequence: UInt64, _ server: ScriptedSession) {
        server.commit(3 + sequence, to: 99, [], acknowledged: sequence)
    }

    @Test func aTransactionThatNoServerReadsIsSetAsideAndReportedAndTheOthersGoOn() throws {
        let server = try ScriptedSession()
        var rejections: [WriteRejection] = []
        server.engine.onRejection = { rejections.append($0) }
        for id in 1...3 as ClosedRange<Int64> {
            try server.engine.write { try $0.insert(ScriptedSession.user(id, age: id), ofClass: 0) }
        }
        server.open()
        // The server cannot read the second.
        var connectionCount = 1
        var acknowledged: UInt64 = 0
        for _ in 0..<20 where acknowledged < 3 {
            let sent = uploads(server)
            guard let last = sent.last else {
                server.open(.resumed, acknowledged: acknowledged)
                connectionCount += 1
                continue
            }
            let second = sent.first { $0.sequence == 2 }
            if let second, second.operations.first?.object.classIndex == 0 {
                violation(server)
            } else {
                acknowledged = last.sequence
                if second != nil { reject(2, server) }
                acknowledge(acknowledged, server)
            }
        }
        #expect(acknowledged == 3)
        #expect(connectionCount <= 5)
        #expect(rejections.map(\.reason.code) == [.protocolViolation])
        #expect(server.storage.outboxCount == 0)
        #expect(try server.age(of: 1) == .int(1))
        #expect(try server.age(of: 2) == nil)
        #expect(try server.age(of: 3) == .int(3))
    }

    @Test func aViolationWithoutUploadsEndsSyncing() throws {
        let server = try ScriptedSession()
        server.open()
        violation(server)
        var failure: SyncError?
        _ = server.engine.whenUploaded { result in
            if case .failure(let error) = result { failure = error }
            return true
        }
        #expect(failure != nil)
    }

    @Test func aServerThatEndsTheConnectionOnceIsSentEverythingAgain() throws {
        let server = try ScriptedSession()
        for id in 1...3 as ClosedRange<Int64> {
            try server.engine.write { try $0.insert(ScriptedSession.user(id, age: id), ofClass: 0) }
        }
        server.open()
        #expect(uploads(server).map(\.sequence) == [1, 2, 3])
        violation(server)
        server.open(.resumed)
        #expect(uploads(server).map(\.sequence) == [1])
        acknowledge(1, server)
        #expect(uploads(server).map(\.sequence) == [2])
        acknowledge(2, server)
        acknowledge(3, server)
        try server.engine.write { try $0.insert(ScriptedSession.user(4, age: 4), ofClass: 0) }
        try server.engine.write { try $0.insert(ScriptedSession.user(5, age: 5), ofClass: 0) }
        // The server answers quickly, so the fifth waits for the answer to the fourth.
        #expect(uploads(server).map(\.sequence) == [3, 4])
        acknowledge(4, server)
        #expect(uploads(server).map(\.sequence) == [5])
    }
}
