import Foundation
import Sluice
import SluiceModel
import SluiceQuery
import SluiceStorage
import SluiceWire
import TestSupport
import Testing

/// What becomes of unsent writes when the server has another history than the one that the client knows.
@Suite struct ResetModeTests {
    private final class Reports {
        var began: [ClientReset] = []
        var ended: [ClientReset] = []
        var rejections: [WriteRejection] = []
    }

    private let reports = Reports()

    /// A client that has two users of the server, and one write that is not uploaded.
    private func session(
        _ mode: ClientResetPolicy.Mode, at location: StorageLocation = .memory, copies: Bool = false
    ) throws -> ScriptedSession {
        let server = try ScriptedSession(at: location) { options in
            options.resetMode = mode
            options.copiesBeforeReset = copies
        }
        watch(server.engine)
        _ = try server.engine.observe(try server.query("User")) { _ in }
        server.open()
        server.bootstrap(1, [ScriptedSession.user(1, age: 40), ScriptedSession.user(2, age: 50)])
        server.loseConnection()
        try server.setAge(of: 1, to: 41)
        return server
    }

    private func watch(_ engine: ClientEngine) {
        engine.onResetBegin = { [reports] in reports.began.append($0) }
        engine.onResetEnd = { [reports] in reports.ended.append($0) }
        engine.onRejection = { [reports] in reports.rejections.append($0) }
    }

    private func comeAgain(_ server: ScriptedSession, epoch: UInt64 = 1) -> [ClientMessage] {
        _ = server.sent()
        server.greet()
        server.opened(.reset, epoch: epoch)
        return server.sent()
    }

    private func uploads(_ messages: [ClientMessage]) -> [UInt64] {
        messages.flatMap { message -> [UInt64] in
            if case .upload(_, let changesets) = message { changesets.map(\.sequence) } else { [] }
        }
    }

    private func isWaiting(_ server: ScriptedSession) -> Bool {
        var error: SyncError?
        _ = server.engine.whenConnected { result in
            if case .failure(let failure) = result { error = failure }
            return true
        }
        return error?.code == .resetRequired
    }

    @Test func recoveredWritesAreUploadedAgainAndTheEndIsReportedOnceTheStoreHasCaughtUp() throws {
        let server = try session(.recoverUnsynced)
        #expect(uploads(comeAgain(server)) == [1])
        #expect(reports.began.map(\.recoversWrites) == [true] && reports.began.map(\.unsentCount) == [1])
        #expect(try server.age(of: 1) == .int(41) && server.age(of: 2) == nil)
        server.bootstrap(1, [ScriptedSession.user(1, age: 40), ScriptedSession.user(3, age: 60)])
        #expect(reports.ended.isEmpty)
        server.commit(4, to: 1, [ScriptedSession.user(1, age: 41, version: 4)], acknowledged: 1)
        #expect(reports.ended == reports.began && reports.rejections.isEmpty)
        #expect(try server.age(of: 1) == .int(41) && server.age(of: 3) == .int(60))
        // What comes later is another reset.
        server.loseConnection()
        _ = comeAgain(server)
        #expect(!isWaiting(server) && reports.began.count == 2)
    }

    @Test func droppedWritesAreReportedAndNotSent() throws {
        let server = try session(.discardUnsynced)
        #expect(uploads(comeAgain(server)).isEmpty)
        #expect(reports.began.map(\.recoversWrites) == [false] && reports.began.map(\.unsentCount) == [1])
        #expect(reports.rejections.map(\.object) == [Identity(className: "User", key: .int(1))])
        #expect(reports.rejections.map(\.rejectedValues) == [["age": .int(41)]])
        #expect(try server.storage.outboxCount == 0 && server.age(of: 1) == nil)
        server.bootstrap(1, [ScriptedSession.user(1, age: 40)])
        #expect(try server.age(of: 1) == .int(40) && reports.ended == reports.began)
    }

    @Test func inManualModeNothingChangesUntilSomebodyDecides() throws {
        let server = try session(.manual)
        #expect(uploads(comeAgain(server)).isEmpty)
        #expect(isWaiting(server) && reports.began.count == 1)
        #expect(try server.age(of: 1) == .int(41) && server.age(of: 2) == .int(50))
        #expect(server.storage.outboxCount == 1)
        try server.setAge(of: 2, to: 51)
        server.engine.resetSync(.recoverUnsynced)
        #expect(uploads(comeAgain(server)) == [1, 2])
        #expect(!isWaiting(server) && reports.began.map(\.recoversWrites) == [false, true])
    }

    @Test(arguments: [ClientResetPolicy.Mode.recoverUnsynced, .discardUnsynced])
    func goingRoundInACircleEndsSyncing(_ mode: ClientResetPolicy.Mode) throws {
        let server = try session(mode)
        _ = comeAgain(server)
        try server.engine.write { try $0.upsert(ScriptedSession.user(7, age: 7), ofClass: 0, present: [0, 1]) }
        server.receive([
            .error(.init(session: 1, code: .clientReset, message: "again", action: .reset, retryAfter: 0))
        ])
        #expect(isWaiting(server))
        #expect(try server.age(of: 7) == .int(7))
        #expect(server.storage.outboxCount == (mode == .discardUnsynced ? 1 : 2))
        server.engine.resetSync(.discardUnsynced)
        _ = comeAgain(server)
        #expect(!isWaiting(server) && server.storage.outboxCount == 0)
    }

    @Test func recoveringTwiceInACircleDropsWhereThatIsAllowed() throws {
        let server = try session(.recoverOrDiscard)
        _ = comeAgain(server)
        #expect(server.storage.outboxCount == 1)
        server.loseConnection()
        _ = comeAgain(server)
        #expect(!isWaiting(server) && server.storage.outboxCount == 0)
        #expect(reports.began.map(\.recoversWrites) == [true, false] && reports.rejections.count == 1)
        server.loseConnection()
        _ = comeAgain(server)
        #expect(isWaiting(server))
    }

    @Test func anotherRestoredServerIsNoCircle() throws {
        let server = try session(.recoverUnsynced)
        _ = comeAgain(server, epoch: 2)
        server.loseConnection()
        #expect(uploads(comeAgain(server, epoch: 3)) == [1])
        #expect(!isWaiting(server))
    }

    @Test func aCircleIsSeenAfterARestart() throws {
        let server = try session(.recoverUnsynced)
        _ = comeAgain(server)
        var options = ClientOptions()
        options.databaseName = "test"
        let engine = try ClientEngine(
            storage: server.storage, options: options, now: { ScriptedSession.now }, random: { 1 })
        let again = ScriptedSession(server, engine: engine)
        _ = comeAgain(again)
        #expect(isWaiting(again))
    }

    @Test func theFileIsCopiedBeforeAnythingIsChanged() throws {
        let folder = FileManager.default.temporaryDirectory.path + "/sluice-reset-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let server = try session(.discardUnsynced, at: .file(folder + "/store"), copies: true)
        _ = comeAgain(server)
        let path = try #require(reports.began.first?.backupPath)
        let backup = try SQLiteClientStorage.open(.file(path))
        defer { backup.close() }
        #expect(try backup.row(ObjectRef(0, .int(1)))?.values[1] == .int(41))
        #expect(try backup.row(ObjectRef(0, .int(2)))?.values[1] == .int(50))
        #expect(backup.outboxCount == 1)
        #expect(try server.storage.outboxCount == 0 && server.age(of: 2) == nil)
        server.storage.close()
    }

    /// B10: objects that were deleted on the server are not brought back by mere updates.
    @Test func aRecoveredUpdateDoesNotBringBackWhatTheServerNoLongerHas() throws {
        let server = try session(.recoverUnsynced)
        _ = comeAgain(server)
        server.bootstrap(1, [ScriptedSession.user(3, age: 60)])
        server.commit(4, to: 1, [], acknowledged: 1)
        #expect(try server.age(of: 1) == nil && server.age(of: 3) == .int(60))
    }
}
