#if PostgreSQL

import Foundation
import SluiceModel
import SluiceStorage
import TestSupport
import Testing

@testable import SluicePostgres

/// Snapshots as rows: whole or not there, made by the holder of the duty, and the journals that are trimmed by them.
final class SnapshotTests {
    private let database: TestDatabase
    private let first: PostgresJournals
    private let second: PostgresJournals
    private let duty = Duty("snapshot", ofDatabase: "planes")
    private let folder = NSTemporaryDirectory() + "sluice-snapshots-" + UUID().uuidString

    init() async throws {
        database = try await PostgresServer.shared.value.database()
        first = try database.node("first")
        second = try database.node("second")
        _ = try first.open()
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(atPath: folder) }

    private func file(_ name: String) -> String { folder + "/" + name }

    private func number(_ sql: String) throws -> Int64 { try database.number(sql) }

    /// Writes a file with bytes that cannot be compressed.
    private func makeFile(_ path: String, byteCount: Int) throws -> Data {
        var random = SeededGenerator(seed: UInt64(byteCount))
        let data = Data((0..<byteCount).map { _ in UInt8.random(in: .min ... .max, using: &random) })
        try data.write(to: URL(filePath: path))
        return data
    }

    @Test(arguments: [1, 4_096, 4 << 20, 9_000_001]) func `a file comes back as it was`(byteCount: Int) throws {
        let data = try makeFile(file("made"), byteCount: byteCount)
        let held = try #require(try first.duties.take(duty))
        let head = try first.open().appendAll(1...3)
        let stored = try first.snapshots.store(file("made"), at: head, holding: held)
        #expect(stored.byteCount == byteCount && stored.head == head && !stored.isProved)
        #expect(try second.snapshots.snapshots(ofDatabase: "planes") == [stored])
        try Data().write(to: URL(filePath: file("loaded")))
        try second.snapshots.load(stored, into: file("loaded"))
        #expect(try Data(contentsOf: URL(filePath: file("loaded"))) == data)
        try first.snapshots.noteProof(of: stored, holding: held)
        #expect(try second.snapshots.snapshots(ofDatabase: "planes").map(\.isProved) == [true])
    }

    @Test func `of two that believe they have the duty one finishes`() throws {
        _ = try makeFile(file("made"), byteCount: 100_000)
        let head = try first.open().appendAll(1...3)
        let held = try #require(try first.duties.take(duty))
        try database.run("UPDATE sluice.duty SET until = clock_timestamp()")
        let others = try #require(try second.duties.take(duty))
        #expect(held.isHeld && others.isHeld)
        #expect(throws: DutyLost.self) { try first.snapshots.store(file("made"), at: head, holding: held) }
        let stored = try second.snapshots.store(file("made"), at: head, holding: others)
        #expect(throws: DutyLost.self) { try first.snapshots.noteProof(of: stored, holding: held) }
        #expect(throws: DutyLost.self) { try first.snapshots.trim(before: 3, holding: held) == 0 }
        #expect(try number("SELECT count(*) FROM sluice.journal") == 4)
        #expect(try first.snapshots.snapshots(ofDatabase: "planes") == [stored])
    }

    @Test func `what was begun and not finished is never seen, and goes with the next`() throws {
        _ = try makeFile(file("made"), byteCount: 5_000_000)
        let head = try first.open().appendAll(1...3)
        try database.run(
            """
            INSERT INTO sluice.snapshot (database, position, chain) SELECT id, 3, '' FROM sluice.database;
            INSERT INTO sluice.part SELECT id, 0, 'half' FROM sluice.snapshot
            """)
        #expect(try first.snapshots.snapshots(ofDatabase: "planes").isEmpty)
        let held = try #require(try first.duties.take(duty))
        _ = try first.snapshots.store(file("made"), at: head, holding: held)
        #expect(try number("SELECT count(*) FROM sluice.snapshot") == 1)
        #expect(try number("SELECT count(*) FROM sluice.part") == 2)
    }

    @Test func `a trim removes groups from the beginning, and who lacks them is told`() throws {
        let journal = try first.open()
        let head = try journal.appendAll(1...2_500)
        let held = try #require(try first.duties.take(duty))
        #expect(try first.snapshots.byteCount(after: 0, ofDatabase: "planes") > 2_500)
        let fifth = try #require(try journal.records(after: 4, countMax: 1).first)
        #expect(try first.snapshots.trim(before: 2_400, holding: held) == 2_400)
        let gone = #expect(throws: StorageError.self) { try second.open().records(after: 0, countMax: 1) }
        #expect(gone?.code == .logTrimmed)
        let lacking = #expect(throws: StorageError.self) {
            try second.snapshots.byteCount(after: 2_398, ofDatabase: "planes")
        }
        #expect(lacking?.code == .logTrimmed)
        #expect(try second.snapshots.byteCount(after: 2_399, ofDatabase: "planes") > 0)
        #expect(try second.open().records(after: 2_399, countMax: .max).count == 101)
        // What is trimmed counts as there, and what is there is compared.
        #expect(try journal.continues(fifth.head) && journal.continues(head))
        #expect(try !journal.continues(JournalHead(position: 2_450, chain: fifth.head.chain)))
        #expect(try !journal.continues(JournalHead(position: 2_501, chain: head.chain)))
        let next = try journal.appendAll([3], after: head)
        #expect(try second.open().records(after: 2_500, countMax: 9).map(\.head) == [next])
    }

    @Test func `the backlog counts what is after the last snapshot`() throws {
        _ = try makeFile(file("made"), byteCount: 100)
        let journal = try first.open()
        #expect(try first.snapshots.backlog(ofDatabase: "planes").recordCount == 0)
        var head = try journal.appendAll(1...10)
        var backlog = try first.snapshots.backlog(ofDatabase: "planes")
        #expect(backlog.recordCount == 10 && backlog.byteCount > 50)
        head = try journal.appendAll(11...15, after: head)
        backlog = try first.snapshots.backlog(ofDatabase: "planes")
        #expect(backlog.recordCount == 15)
        #expect(try second.snapshots.backlog(ofDatabase: "planes") == backlog)
        let held = try #require(try first.duties.take(duty))
        _ = try first.snapshots.store(file("made"), at: head, holding: held)
        #expect(try first.snapshots.backlog(ofDatabase: "planes").recordCount == 0)
    }

    @Test func `what is asked for is to be done until it is done`() throws {
        #expect(try !first.snapshots.isRequested(.snapshot, ofDatabase: "planes"))
        try second.snapshots.request(.snapshot, ofDatabase: "planes")
        let earlier = try #require(try first.snapshots.request(for: .snapshot, ofDatabase: "planes"))
        try second.snapshots.request(.snapshot, ofDatabase: "planes")
        // Whoever asks while it is being done wants it done again.
        try first.snapshots.finish(earlier)
        let later = try #require(try second.snapshots.request(for: .snapshot, ofDatabase: "planes"))
        #expect(later != earlier)
        #expect(try second.snapshots.isRequested(.snapshot, ofDatabase: "planes"))
        #expect(try second.snapshots.request(for: .comparison, ofDatabase: "planes") == nil)
        try first.snapshots.finish(later)
        #expect(try !first.snapshots.isRequested(.snapshot, ofDatabase: "planes"))
        #expect(try second.snapshots.request(for: .snapshot, ofDatabase: "planes") == nil)
        let unknown = #expect(throws: StorageError.self) { try first.snapshots.request(.snapshot, ofDatabase: "boats") }
        #expect(unknown?.code == .notFound)
    }

    @Test func `a database that is adopted begins after its file, with an epoch, and one that is sealed has ended`()
        throws
    {
        let data = try makeFile(file("made"), byteCount: 10_000)
        let id = ObjectID(high: 7, low: 8)
        var head = JournalHead(of: id)
        for number in 1...5 { head = JournalRecord(number, after: head).head }
        try first.adopt("boats", id: id, at: head, file: file("made"))
        let journal = try second.open("boats")
        #expect(journal.databaseID == id)
        #expect(try journal.continues(head) && journal.records(after: 5, countMax: 1).isEmpty)
        let before = #expect(throws: StorageError.self) { try journal.records(after: 4, countMax: 1) }
        #expect(before?.code == .logTrimmed)
        let snapshot = try #require(try second.snapshots.snapshots(ofDatabase: "boats").first)
        #expect(snapshot.isProved && snapshot.head == head)
        try Data().write(to: URL(filePath: file("loaded")))
        try second.snapshots.load(snapshot, into: file("loaded"))
        #expect(try Data(contentsOf: URL(filePath: file("loaded"))) == data)

        let taken = #expect(throws: StorageError.self) {
            try second.adopt("boats", id: id, at: head, file: file("made"))
        }
        #expect(taken?.code == .exists)
        let next = JournalRecord(6, after: head)
        #expect(throws: JournalHistoryChanged.self) { try journal.append(next, after: head) }
        let epoch = JournalRecord(
            JournalGroup(baseVersion: 0, acceptedAt: Timestamp(microseconds: 9), steps: [.epoch(1)]), after: head)
        #expect(try journal.append(epoch, after: head) == .appended)

        #expect(try second.placeOfSealed("boats") == nil)
        for _ in 0..<2 { #expect(try second.seal("boats", for: "m:/a", isMovedAgain: false) == epoch.head) }
        #expect(try first.placeOfSealed("boats") == "m:/a")
        let elsewhere = #expect(throws: StorageError.self) {
            try first.seal("boats", for: "m:/b", isMovedAgain: false)
        }
        #expect(elsewhere?.code == .detached && elsewhere?.message.contains("m:/a") == true)
        #expect(try first.seal("boats", for: "m:/b", isMovedAgain: true) == epoch.head)
        #expect(try second.placeOfSealed("boats") == "m:/b")
        let absent = #expect(throws: StorageError.self) { try first.seal("cars", for: "m:/a", isMovedAgain: false) }
        #expect(absent?.code == .notFound)
        let sealed = #expect(throws: StorageError.self) {
            try journal.append(JournalRecord(7, after: epoch.head), after: epoch.head)
        }
        #expect(sealed?.code == .detached && sealed?.message.contains("detached") == true)
        #expect(throws: StorageError.self) { try first.journal(ofDatabase: "boats") }
        #expect(try first.existingJournal(ofDatabase: "boats").records(after: 5, countMax: 9) == [epoch])
        try first.adopt("boats", id: id, at: epoch.head, file: file("made"))
        #expect(try first.open("boats").continues(epoch.head))
        #expect(try first.databaseNames == ["boats", "planes"])
    }
}

#endif
