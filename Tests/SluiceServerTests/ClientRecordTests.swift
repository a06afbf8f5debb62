import SluiceModel
import SluiceServer
import SluiceStorage
import SluiceWire
import Testing

/// How long a server keeps the records of its clients, and that no upload counts twice because a record is gone.
struct ClientRecordTests {
    private static let day: Int64 = 86_400_000_000

    @Test func aThousandShortLivedWritersLeaveNoRecord() throws {
        let bench = try Bench()
        for number in 1...1_000 {
            let session = try bench.open(options: .shortLived)
            _ = try bench.upload(session.id, [bench.changeset(1)])
            _ = try bench.handle([.messages(session.id, [.close(session: 1)]), .closed(session.id)])
            guard try bench.storage.clientCount == 0 else {
                Issue.record("a record is left of writer \(number)")
                return
            }
        }
        #expect(try bench.seats(1) == .int(1_000))
    }

    @Test func aShortLivedWriterWhoseConnectionBreaksGoesOnAsTheSameClient() throws {
        let bench = try Bench()
        let first = try bench.open(options: .shortLived)
        _ = try bench.upload(first.id, [bench.changeset(1)])
        _ = try bench.handle([.closed(first.id)])
        let again = try bench.open(first.opened.identity, options: .shortLived)
        #expect(again.opened.outcome == .resumed && again.opened.acknowledged == 1)
        _ = try bench.upload(again.id, [bench.changeset(1), bench.changeset(2)])
        #expect(try bench.seats(1) == .int(2))
        _ = try bench.handle([.messages(again.id, [.close(session: 1)])])
        #expect(try bench.storage.clientCount == 0)
    }

    @Test func aClientThatClosesWithoutBeingShortLivedIsRemembered() throws {
        let bench = try Bench()
        let session = try bench.open()
        _ = try bench.upload(session.id, [bench.changeset(1)])
        _ = try bench.handle([.messages(session.id, [.close(session: 1)])])
        #expect(try bench.open(session.opened.identity).opened.outcome == .resumed)
    }

    /// A client that uploaded, left, and comes back after some days. Others wrote meanwhile, and the log keeps one
    /// version.
    private func returning(afterDays days: Int64, isLogTrimmed: Bool) throws -> ServerMessage.Opened {
        let bench = try Bench()
        let session = try bench.open()
        _ = try bench.upload(session.id, [bench.changeset(1)])
        _ = try bench.handle([.closed(session.id)])
        bench.advance(microseconds: days * Self.day)
        let other = try bench.open()
        _ = try bench.upload(other.id, [bench.changeset(1), bench.changeset(2)])
        if isLogTrimmed { _ = try bench.storage.trimLog(keepingVersions: 1, keepingBytes: .max, entriesMax: 100) }
        bench.engine.performMaintenance(now: bench.now)
        return try bench.open(session.opened.identity).opened
    }

    @Test(arguments: [(89, true, false), (91, true, true), (91, false, false)] as [(Int64, Bool, Bool)])
    func aClientIsForgottenAfterNinetyDaysOnceTheLogDoesNotReachIt(
        days: Int64, isLogTrimmed: Bool, isForgotten: Bool
    ) throws {
        let opened = try returning(afterDays: days, isLogTrimmed: isLogTrimmed)
        #expect(opened.outcome == (isForgotten ? .forgotten : .resumed))
        #expect(opened.acknowledged == (isForgotten ? 0 : 1))
    }

    @Test func aClientThatStaysConnectedIsNotForgotten() throws {
        let bench = try Bench()
        let session = try bench.open()
        _ = try bench.upload(session.id, [bench.changeset(1), bench.changeset(2)])
        for _ in 0..<4 {
            bench.advance(microseconds: 60 * Self.day)
            _ = try bench.storage.trimLog(keepingVersions: 1, keepingBytes: .max, entriesMax: 100)
            bench.engine.performMaintenance(now: bench.now)
        }
        #expect(try bench.open(session.opened.identity).opened.outcome == .resumed)
    }

    @Test func whoeverOnlyReadOrNeverWroteIsForgottenByTimeAlone() throws {
        let bench = try Bench()
        for _ in 0..<2_500 { _ = try bench.handle([.closed(try bench.open().id)]) }
        #expect(try bench.storage.clientCount == 2_500)
        bench.advance(microseconds: 91 * Self.day)
        for _ in 0..<3 { bench.engine.performMaintenance(now: bench.now) }
        #expect(try bench.storage.clientCount == 0)
    }

    @Test func aClientWhoseEpochIsUnknownKeepsWhatWasAcceptedFromIt() throws {
        let bench = try Bench()
        let session = try bench.open()
        _ = try bench.upload(session.id, [bench.changeset(1)])
        _ = try bench.handle([.closed(session.id)])
        var identity = session.opened.identity
        identity.epoch = 99
        let again = try bench.open(identity)
        #expect(again.opened.outcome == .reset && again.opened.acknowledged == 1)
        // The transactions that it dropped from its outbox in the undone history leave a gap.
        _ = try bench.upload(again.id, [bench.changeset(5)])
        #expect(try bench.seats(1) == .int(2))
    }
}
