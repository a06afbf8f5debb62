import Foundation
import SluiceModel
import SluiceQuery
import SluiceServer
import SluiceStorage
import SluiceWire
import TestSupport
import Testing

/// Damages each page of a database in turn and in each way: every request ends, nothing traps, and every answer is
/// right wherever SQLite can detect the damage.
@Suite(.ownThread) struct DamagedPageTests {
    private static let queries = [
        "Plane", "Plane WHERE seats == 7", "Plane WHERE note BEGINSWITH 'plane 30'", "Plane SORT(seats ASC) LIMIT(20)",
        "Plane WHERE home.id == 2 SORT(note DESC)", "Depot WHERE @links.Plane.home.@count > 1", "Depot",
    ]

    @Test(arguments: PageDamage.allCases)
    func whateverIsAskedOfADamagedDatabaseEnds(damage: PageDamage) throws {
        try withDamageFolder { folder in
            let path = folder + "/db"
            try FileBench.whole.get().write(to: URL(filePath: path))
            let (expected, identity, version): ([FileBench.Ending], ClientIdentity?, UInt64) = try {
                let bench = try FileBench(path)
                let opened = try bench.open(.readOnly).answers.compactMap { message in
                    if case .opened(let opened) = message { opened } else { nil }
                }
                return (
                    try Self.queries.map { FileBench.Ending(try bench.ask($0)) }, opened.first?.identity,
                    bench.storage.version
                )
            }()
            for ending in expected {
                guard case .complete(let rows) = ending, !rows.isEmpty else {
                    Issue.record("a query of the whole database has no rows")
                    return
                }
            }
            let file = try Data(contentsOf: URL(filePath: path))
            var metCount = 0
            for page in damage.firstPage..<file.count / PageDamage.pageSize {
                let place = "\(damage.rawValue) page \(page)"
                var damaged = file
                var generator = SeededGenerator(seed: UInt64(page))
                damage.apply(to: &damaged, page: page, using: &generator)
                for suffix in ["", "-wal", "-shm", "-marker", "-damage"] {
                    try? FileManager.default.removeItem(atPath: path + suffix)
                }
                try damaged.write(to: URL(filePath: path))
                if try meetsDamage(path, damage, expected, identity, version, place) { metCount += 1 }
            }
            #expect(metCount > 0)
        }
    }

    /// Makes every kind of request to a damaged file.
    ///
    /// - Returns: whether the damage was noticed.
    private func meetsDamage(
        _ path: String, _ damage: PageDamage, _ expected: [FileBench.Ending], _ identity: ClientIdentity?,
        _ version: UInt64, _ place: String
    ) throws -> Bool {
        let bench: FileBench
        do { bench = try FileBench(path) } catch {
            // The file was rejected as a whole.
            #expect((error as? StorageError)?.isOfDamage == true || !damage.isSeen, "\(place): \(error)")
            return true
        }
        for (query, right) in zip(Self.queries, expected) {
            let ending = FileBench.Ending(try bench.ask(query))
            switch ending {
            case .none: Issue.record("\(place), \(query): no answer")
            case .other(let message): #expect(!damage.isSeen, "\(place), \(query): \(message)")
            case .damaged: #expect(bench.storage.damage != nil)
            case .complete: #expect(!damage.isSeen || ending == right, "\(place), \(query)")
            }
        }
        // A returning client makes the server read the log.
        let (back, _) = try bench.open(.readOnly, identity: identity, version: version - 4)
        if let query = try? Query.parse("Plane", schema: bench.storage.schema) {
            let resume = ClientMessage.Resume(version: version - 4, queryHash: query.hash, memberCount: 0)
            #expect(FileBench.Ending(try bench.ask("Plane", in: back, resume: resume)) != .none, "\(place), resumed")
        }
        let status = try bench.status(in: back)
        #expect(!status.isEmpty, "\(place), status")
        // A write ends too: it is acknowledged or rejected.
        let (id, answers) = try bench.open()
        guard answers.contains(where: { if case .opened = $0 { true } else { false } }) else {
            #expect(FileBench.Ending(answers).isOfDamage || !damage.isSeen, "\(place), opening: \(answers)")
            return true
        }
        let updates = (1...FileBench.planeCount).map { id in
            ObjectOperation(ObjectRef(0, .int(id)), .update([FieldOperation(1, .set(.int(1)))]))
        }
        let told = try bench.handle([.messages(id, [.upload(session: 1, changesets: [bench.changeset(1, updates)])])])
        let isAcknowledged = told.contains {
            if case .commit(let commit) = $0 { commit.header.acknowledged == 1 } else { false }
        }
        let ending = FileBench.Ending(told)
        #expect(isAcknowledged || ending.isOfDamage || !damage.isSeen && ending != .none, "\(place), writing: \(told)")
        return bench.storage.damage != nil
    }
}
