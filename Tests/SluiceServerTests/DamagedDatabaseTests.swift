import Foundation
import SluiceModel
import SluiceServer
import SluiceStorage
import SluiceWire
import TestSupport
import Testing

/// Database files with damaged pages: every query ends, for good, and what can be read is served.
struct DamagedDatabaseTests {
    private static func damage(_ path: String, page: Int) throws {
        for suffix in ["", "-wal", "-shm", "-marker", "-damage"] {
            try? FileManager.default.removeItem(atPath: path + suffix)
        }
        var file = try FileBench.whole.get()
        var generator = SeededGenerator(seed: 1)
        PageDamage.beheaded.apply(to: &file, page: page, using: &generator)
        try file.write(to: URL(filePath: path))
    }

    /// Every page but the first.
    private static var pages: Range<Int> { get throws { try 1..<FileBench.whole.get().count / PageDamage.pageSize } }

    /// A page that the query for all planes reads and the query for depots does not.
    private static let planesPage = Result {
        var found: Int?
        try withDamageFolder { folder in
            let path = folder + "/db"
            found = try pages.first { page in
                try damage(path, page: page)
                guard let bench = try? FileBench(path), FileBench.Ending(try bench.ask("Plane")).isOfDamage else {
                    return false
                }
                return FileBench.Ending(try bench.ask("Depot")) == .complete(FileBench.depots)
            }
        }
        return try #require(found)
    }

    /// Makes a database whose planes cannot all be read.
    private func makeWithDamagedPlanes(_ path: String) throws { try Self.damage(path, page: Self.planesPage.get()) }

    @Test func aQueryThatMeetsADamagedPageEndsForGoodAndOthersAreServed() throws {
        try withDamageFolder { folder in
            try makeWithDamagedPlanes(folder + "/db")
            let bench = try FileBench(folder + "/db")
            guard case .damaged(let message) = FileBench.Ending(try bench.ask("Plane")) else {
                Issue.record("the damage was not met")
                return
            }
            #expect(message.contains("planes.sluicedb"))
            #expect(message.contains("SQLite 11: database disk image is malformed"))
            #expect(FileBench.Ending(try bench.ask("Depot")) == .complete(FileBench.depots))
        }
    }

    @Test func damageIsLoggedOnceHoweverManyMeetIt() throws {
        try withDamageFolder { folder in
            try makeWithDamagedPlanes(folder + "/db")
            let bench = try FileBench(folder + "/db")
            for _ in 0..<5 { _ = try bench.ask("Plane") }
            #expect(bench.log.errors.count == 1)
        }
    }

    @Test func aDatabaseKnownToBeDamagedTakesNoWritesAlsoAfterARestartAndServesWhoWrites() throws {
        try withDamageFolder { folder in
            try makeWithDamagedPlanes(folder + "/db")
            for round in 0..<2 {
                let bench = try FileBench(folder + "/db")
                if round == 0 { #expect(FileBench.Ending(try bench.ask("Plane")).isOfDamage) }
                let (id, answers) = try bench.open()
                #expect(answers.contains { if case .opened = $0 { true } else { false } }, "round \(round)")
                let write = bench.changeset(1, [ObjectOperation(ObjectRef(1, .int(9)), .create([]))])
                let upload = DatabaseEvent.messages(id, [.upload(session: 1, changesets: [write])])
                let told = try bench.handle([upload])
                // Nothing is acknowledged, and the client is told once.
                guard case .error(let failure)? = told.first, told.count == 1 else {
                    Issue.record("round \(round): \(told)")
                    return
                }
                #expect(failure.code == .databaseDamaged && failure.action == .report)
                #expect(try bench.handle([upload]).isEmpty)
                #expect(FileBench.Ending(try bench.ask("Depot", in: id)) == .complete(FileBench.depots))
            }
        }
    }

    @Test func aWriteThatMeetsDamageIsRefusedAndTheSessionGoesOn() throws {
        try withDamageFolder { folder in
            try makeWithDamagedPlanes(folder + "/db")
            let bench = try FileBench(folder + "/db")
            let (id, _) = try bench.open()
            let updates = (1...FileBench.planeCount).map { id in
                ObjectOperation(ObjectRef(0, .int(id)), .update([FieldOperation(1, .set(.int(1)))]))
            }
            let told = try bench.handle([
                .messages(id, [.upload(session: 1, changesets: [bench.changeset(1, updates)])])
            ])
            guard case .error(let failure)? = told.first, told.count == 1 else {
                Issue.record("\(told)")
                return
            }
            #expect(failure.code == .databaseDamaged && failure.action == .report)
            #expect(FileBench.Ending(try bench.ask("Depot", in: id)) == .complete(FileBench.depots))
            // Nothing of it was kept.
            let ending = FileBench.Ending(try bench.ask("Plane WHERE id == 1"))
            let row: [Value] = [.int(1), .int(1), .string(FileBench.note(1)), .link(.int(2))]
            #expect(ending == .complete([.int(1): row]) || ending.isOfDamage, "\(ending)")
        }
    }

    @Test func aDatabaseThatIsRestoredIsWrittenAgain() throws {
        try withDamageFolder { folder in
            let path = folder + "/db"
            try makeWithDamagedPlanes(path)
            do {
                let bench = try FileBench(path)
                #expect(FileBench.Ending(try bench.ask("Plane")).isOfDamage)
            }
            try FileBench.whole.get().write(to: URL(filePath: path))
            let bench = try FileBench(path)
            let (id, _) = try bench.open()
            let write = bench.changeset(1, [ObjectOperation(ObjectRef(1, .int(9)), .create([]))])
            let told = try bench.handle([.messages(id, [.upload(session: 1, changesets: [write])])])
            #expect(
                told.contains { if case .commit(let commit) = $0 { commit.header.acknowledged == 1 } else { false } })
            guard case .complete(let rows) = FileBench.Ending(try bench.ask("Plane")) else {
                Issue.record("the restored database is not served")
                return
            }
            #expect(rows.count == Int(FileBench.planeCount))
        }
    }

    @Test func aDamagedLogLeavesTheObjectsToBeRead() throws {
        try withDamageFolder { folder in
            let path = folder + "/db"
            var found = 0
            for page in try Self.pages {
                try Self.damage(path, page: page)
                guard let bench = try? FileBench(path), bench.storage.damage != nil,
                    case .complete(let rows) = FileBench.Ending(try bench.ask("Plane"))
                else { continue }
                found += 1
                #expect(rows.count == Int(FileBench.planeCount))
            }
            #expect(found > 0)
        }
    }

    @Test func theStatusTellsTheDamageAndCountsWhatItCan() throws {
        try withDamageFolder { folder in
            try makeWithDamagedPlanes(folder + "/db")
            let bench = try FileBench(folder + "/db")
            _ = try bench.ask("Plane")
            let (id, _) = try bench.open(.readOnly)
            guard case .report(_, _, let json)? = try bench.status(in: id).last else {
                Issue.record("no report")
                return
            }
            let text = String(decoding: json, as: UTF8.self)
            #expect(text.contains(#""damage":"the server's database file planes.sluicedb is damaged (SQLite 11"#))
            #expect(text.contains(#"{"name":"Depot","count":3}"#))
        }
    }
}
