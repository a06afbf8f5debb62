import SluiceModel
import SluiceServer
import SluiceStorage
import SluiceWire
import Synchronization
import Testing

struct DatabaseEngineTests {
    @Test func aClientWithoutIdentityIsCreatedAndItsOfferedAndStoredNoncesResumeIt() throws {
        let bench = try Bench()
        let first = try bench.open().opened
        #expect(first.outcome == .created)
        let offered = first.identity
        let second = try bench.open(offered).opened
        #expect(second.outcome == .resumed)
        #expect(second.identity.clientID == offered.clientID)
        #expect(second.identity.nonce != offered.nonce)
        // The second offer never reached the client's file, so the client presents the nonce that is stored.
        let third = try bench.open(offered).opened
        #expect(third.outcome == .resumed)
        #expect(try bench.open(third.identity).opened.outcome == .resumed)
        // Whoever has stored the second offer all the same is another file.
        #expect(try bench.open(second.identity).opened.outcome == .copied)
    }

    @Test func anIdentityThatFellBehindIsACopyAndBecomesAnotherClient() throws {
        let bench = try Bench()
        let original = try bench.open().opened.identity
        let next = try bench.open(original).opened.identity
        let last = try bench.open(next)
        #expect(last.opened.outcome == .resumed)
        let copy = try bench.open(original).opened
        #expect(copy.outcome == .copied)
        #expect(copy.identity.clientID != original.clientID)
    }

    @Test func theFirstMessageAfterOpeningConfirmsTheOfferSoTheIdentityBeforeItIsACopy() throws {
        let bench = try Bench()
        let original = try bench.open().opened.identity
        let session = try bench.open(original)
        _ = try bench.handle([.messages(session.id, [.credit(session: 1, pages: 1)])])
        #expect(try bench.open(original).opened.outcome == .copied)
        #expect(try bench.open(session.opened.identity).opened.outcome == .resumed)
    }

    @Test func anIdentityOfAnotherDatabaseEpochOrClientIsReset() throws {
        let bench = try Bench()
        let identity = try bench.open().opened.identity
        var other = [identity, identity, identity]
        other[0].databaseID = ObjectID(high: 8, low: 8)
        other[1].epoch += 1
        other[2].clientID += 100
        for identity in other { #expect(try bench.open(identity).opened.outcome == .reset) }
    }

    @Test func aVersionBeyondWhatTheServerHasOrOfAHistoryThatWasUndoneIsReset() throws {
        let bench = try Bench()
        let session = try bench.open()
        let identity = session.opened.identity
        _ = try bench.upload(session.id, [bench.changeset(1), bench.changeset(2)])
        #expect(try bench.open(identity, version: 2).opened.outcome == .resumed)
        #expect(try bench.open(identity, version: 3).opened.outcome == .reset)
        // The server begins a new epoch and goes on: versions before that stay known, and version 3 is now another one.
        try bench.engine.beginEpoch()
        let again = try bench.open(identity, version: 2)
        #expect(again.opened.outcome == .resumed && again.opened.identity.epoch != identity.epoch)
        _ = try bench.upload(again.id, [bench.changeset(3)])
        #expect(try bench.open(again.opened.identity, version: 3).opened.outcome == .resumed)
        #expect(try bench.open(identity, version: 3).opened.outcome == .reset)
        #expect(try bench.open(identity, version: 3, options: .readOnly).opened.outcome == .reset)
    }

    @Test func aClientThatHasNotSaidThatItKnowsTotalsIsRefusedOne() throws {
        let bench = try Bench()
        let id = SessionID(connection: 90, session: 1)
        var open = ClientMessage.Open(session: 1, path: "planes", schema: bench.planeSchema)
        open.features = []
        _ = try bench.handle([.open(id, open, User(id: nil, mayExtendSchema: true))])
        func subscribe(_ number: UInt64, _ query: String) -> DatabaseEvent {
            .messages(id, [.subscribe(.init(session: 1, subscription: number, query: query))])
        }
        let refused = try bench.handle([subscribe(1, "Plane LIMIT(2) TOTAL")])
        guard case .subscriptionError(let error)? = refused.first else {
            return #expect(Bool(false), "not refused: \(refused)")
        }
        #expect(error.code == .invalidQuery && error.message.contains("TOTAL"))
        let served = try bench.handle([subscribe(2, "Plane LIMIT(2)")]) + bench.work()
        #expect(served.contains { if case .complete(let complete) = $0 { complete.figures == nil } else { false } })
    }

    @Test func aQueryThatTakesTooMuchIsRefusedAndTheSessionGoesOn() throws {
        var limits = DatabaseLimits()
        limits.queryStepCountMax = 100_000
        let bench = try Bench(limits: limits)
        let id = try bench.open().id
        _ = try bench.upload(id, [bench.planes(2_000)])
        let heavy = "Plane WHERE seats > 0 AND " + (1...40).map { "seats * \($0) != id" }.joined(separator: " AND ")
        let messages =
            try bench.handle([
                .messages(
                    id,
                    [
                        .subscribe(.init(session: 1, subscription: 1, query: heavy)),
                        .subscribe(.init(session: 1, subscription: 2, query: "Plane WHERE id == 10")),
                    ])
            ]) + bench.work()
        let rejections = messages.compactMap {
            if case .subscriptionError(let rejection) = $0 { rejection } else { nil }
        }
        #expect(rejections.map(\.code) == [.limitExceeded] && rejections.map(\.subscription) == [1])
        #expect(rejections.first?.message.contains("more work than this server allows") == true)
        #expect(
            messages.contains { if case .complete(let complete) = $0 { complete.subscription == 2 } else { false } })
    }

    @Test func aCompletedSubscriptionSaysWhenItsVersionWasAcceptedAndNotWhenItWasAskedFor() throws {
        let bench = try Bench()
        let id = try bench.open().id
        _ = try bench.upload(id, [bench.planes(3)])
        let subscribe = ClientMessage.subscribe(.init(session: 1, subscription: 1, query: "Plane"))
        let later = Timestamp(microseconds: 5_000)
        let actions =
            bench.engine.handle([.messages(id, [subscribe, .credit(session: 1, pages: 1)])], now: later)
            + bench.engine.step(now: later)
        let times = try actions.flatMap { action -> [Timestamp] in
            guard case .send(let frame, _) = action else { return [] }
            return try Frame.decode(frame, as: ServerMessage.self).compactMap {
                if case .complete(let complete) = $0 { complete.acceptedAt } else { nil }
            }
        }
        #expect(times == [Timestamp(microseconds: 1_000)])
    }

    @Test func aQueryThatNobodyWaitsForEndsItsSessionAlone() throws {
        let levels = Mutex<[LogLevel]>([])
        let bench = try Bench(log: LogSink(level: .debug) { line in levels.withLock { $0.append(line.level) } })
        let (writer, reader) = (try bench.open().id, try bench.open().id)
        _ = try bench.upload(writer, [bench.planes(2_000)])
        bench.engine.isAbandoned = { $0 == reader }
        let heavy = "Plane WHERE seats > 0 AND " + (1...40).map { "seats * \($0) != id" }.joined(separator: " AND ")
        let subscribe = ClientMessage.subscribe(.init(session: 1, subscription: 1, query: heavy))
        let answer = try bench.handle([.messages(reader, [subscribe])])
        #expect(answer.contains { if case .error(let failure) = $0 { failure.action == .retry } else { false } })
        // A client that has left is no failure.
        #expect(levels.withLock { $0.max() } == .debug)
        #expect(try bench.handle([.messages(writer, [subscribe])]).isEmpty)
        #expect(bench.engine.hasWork)
    }

    @Test func aRepeatedUploadIsAcknowledgedAndNotAppliedAgain() throws {
        let bench = try Bench()
        let id = try bench.open().id
        _ = try bench.upload(id, [bench.changeset(1), bench.changeset(2)])
        #expect(try bench.seats(1) == .int(2))
        let messages = try bench.upload(id, [bench.changeset(1), bench.changeset(2)])
        #expect(try bench.seats(1) == .int(2))
        #expect(bench.storage.version == 2)
        #expect(acknowledged(messages) == [2])
    }

    @Test func aGapInTheSequencesEndsTheSessionAndIsNotApplied() throws {
        let bench = try Bench()
        let id = try bench.open().id
        _ = try bench.upload(id, [bench.changeset(1)])
        let messages = try bench.upload(id, [bench.changeset(3)])
        let failure = ServerMessage.Failure(
            session: 1, code: .protocolViolation, message: "upload 3 arrived, and 2 is missing", action: .retry)
        #expect(messages == [.error(failure)])
        #expect(try bench.seats(1) == .int(1))
    }

    @Test func aBadOperationRejectsItsWholeTransactionAndTheRestOfTheGroupCommits() throws {
        let bench = try Bench()
        let id = try bench.open().id
        let messages = try bench.upload(
            id, [bench.changeset(1), bench.changeset(2, isBad: true), bench.changeset(3)])
        let reason = ServerMessage.Rejection.Reason(
            object: ObjectRef(0, .int(20)), code: .invalidOperation,
            message: "Plane.seats is int, and the value is string")
        #expect(messages.contains(.rejected(.init(session: 1, rejection: .init(sequence: 2, reasons: [reason])))))
        #expect(acknowledged(messages) == [3])
        #expect(try [1, 10, 20, 30].map { try bench.seats($0) } == [.int(2), .int(2), nil, .int(2)])
        #expect(bench.storage.version == 2)
    }

    @Test func aRejectionIsToldAgainAtEveryOpeningUntilTheClientHasDroppedItsTransaction() throws {
        let bench = try Bench()
        let first = try bench.open()
        _ = try bench.upload(first.id, [bench.changeset(1), bench.changeset(2, isBad: true)])
        let second = try bench.open(first.opened.identity, acknowledged: 0).opened
        #expect(second.acknowledged == 2)
        #expect(second.rejections.map(\.sequence) == [2])
        let third = try bench.open(second.identity, acknowledged: 1).opened
        #expect(third.rejections == second.rejections)
        let fourth = try bench.open(third.identity, acknowledged: 2).opened
        #expect(fourth.outcome == .resumed && fourth.rejections.isEmpty)
        #expect(try bench.storage.rejections(of: fourth.identity.clientID).isEmpty)
    }

    @Test func ofAClientThatNeverComesBackOnlyTheLastRejectionsAreKept() throws {
        let bench = try Bench()
        let first = try bench.open()
        let count = UInt64(SQLiteServerStorage.rejectionCountMax) + 5
        for sequence in 1...count { _ = try bench.upload(first.id, [bench.changeset(sequence, isBad: true)]) }
        let kept = try bench.storage.rejections(of: first.opened.identity.clientID).map {
            try ServerMessage.Rejection(wireBytes: $0).sequence
        }
        #expect(kept == Array(6...count))
    }

    @Test func aReaderLeavesNoRecordAndWhatItHasCountsAsLongAsTheDatabaseIsTheSame() throws {
        let bench = try Bench()
        let writer = try bench.open().opened
        let reader = try bench.open(options: .readOnly)
        #expect(reader.opened.outcome == .created)
        #expect(try bench.storage.client(writer.identity.clientID + 1) == nil)
        #expect(try bench.open(reader.opened.identity, options: .readOnly).opened.outcome == .resumed)
        var other = reader.opened.identity
        other.epoch += 1
        #expect(try bench.open(other, options: .readOnly).opened.outcome == .reset)
        // An upload ends a reader's session.
        let refused = try bench.upload(reader.id, [bench.changeset(1)])
        #expect(refused.contains { if case .error(let failure) = $0 { failure.action == .stop } else { false } })
        // A reader that becomes a writer gets an identity and keeps its objects.
        let becoming = try bench.open(reader.opened.identity).opened
        #expect(becoming.outcome == .copied && becoming.identity.clientID > 0)
    }

    @Test func aReportThatCannotBeGivenFailsByItsNumberAndNoOther() throws {
        let bench = try Bench()
        let id = try bench.open().id
        let answers = try bench.handle([
            .messages(
                id,
                [
                    .reportRequest(.init(session: 1, request: 4, topic: .status)),
                    .reportRequest(.init(session: 1, request: 5, topic: .init(rawValue: 99))),
                    .reportRequest(.init(session: 1, request: 6, topic: .explain, argument: "Ship")),
                    .reportRequest(.init(session: 1, request: 7, topic: .explain, argument: "Plane WHERE (")),
                    .reportRequest(.init(session: 1, request: 8, topic: .explain, argument: "Plane")),
                ])
        ])
        let summary = answers.map { answer in
            switch answer {
            case .report(_, let request, _): "report \(request)"
            case .reportError(let error): "\(error.code) \(error.request)"
            default: "another message"
            }
        }
        #expect(summary == ["report 4", "unknownReport 5", "unknownName 6", "invalidQuery 7", "report 8"])
    }

    private func acknowledged(_ messages: [ServerMessage]) -> [UInt64] {
        messages.compactMap { if case .commit(let commit) = $0 { commit.header.acknowledged } else { nil } }
    }
}
