import SluiceModel
import SluiceRules
import SluiceServer
import SluiceStorage
import Testing

/// Rules as a database keeps them.
@Suite struct StoredRulesTests {
    private func engine(_ storage: SQLiteServerStorage) -> DatabaseEngine {
        DatabaseEngine(name: "documents", storage: storage) { 1 }
    }

    private func file(_ condition: String) throws -> RulesFile {
        try RulesFile("{\"classes\": {\"Document\": {\"read\": \"\(condition)\"}}}")
    }

    @Test func deployingTheSameRulesDoesNothingAndOthersKeepTheFormer() throws {
        let storage = try SQLiteServerStorage.open(.memory, databaseID: ObjectID(high: 1, low: 1))
        let engine = engine(storage)
        #expect(try engine.deploy(file("id == 1")) == (1, true))
        let head = storage.head
        #expect(try engine.deploy(RulesFile(" {\"classes\":{\"Document\":{\"read\":\"id == 1\"}}}")) == (1, false))
        #expect(storage.head == head)
        #expect(try engine.deploy(file("id == 2")) == (2, true))
        #expect(try storage.rules(ofVersion: 1) == file("id == 1").canonicalBytes)
        #expect(try storage.rules(ofVersion: 2) == file("id == 2").canonicalBytes)
    }

    @Test func theLastVersionsAreKeptAndOlderOnesAreStillKnownToBeOld() throws {
        let storage = try SQLiteServerStorage.open(.memory, databaseID: ObjectID(high: 1, low: 1))
        let engine = engine(storage)
        let countMax = SQLiteServerStorage.ruleVersionCountMax
        for number in 1...countMax + 5 { #expect(try engine.deploy(file("id == \(number)")) == (number, true)) }
        for number in 1...countMax + 5 {
            let bytes = try file("id == \(number)").canonicalBytes
            #expect(try storage.rules(ofVersion: number) == (number > 5 ? bytes : nil))
            #expect(try storage.rules(ofVersion: number, are: bytes))
            #expect(try !storage.rules(ofVersion: number, are: file("id == 0").canonicalBytes))
        }
        // A server that starts with a file of then undoes nothing.
        try self.engine(storage).begin(with: file("id == 2"), isWritable: true)
        #expect(try storage.rulesVersion == countMax + 5)
    }

    @Test func anotherEngineThatFollowsTheJournalHasTheSameRules() throws {
        let storage = try SQLiteServerStorage.open(.memory, databaseID: ObjectID(high: 1, low: 1))
        let copy = try SQLiteServerStorage.open(.memory, databaseID: ObjectID(high: 1, low: 1))
        let engine = engine(storage)
        _ = try engine.deploy(file("id == 1"))
        for record in try storage.records(after: copy.head.position, countMax: 10) {
            _ = try copy.transaction { try copy.apply(record) }
        }
        #expect(try copy.rulesVersion == 1 && copy.rules(ofVersion: 1) == file("id == 1").canonicalBytes)
    }

    @Test func rulesThatAreDeployedHoldForThoseWhoAreConnected() throws {
        let world = try RuledWorld(users: ["ada"])
        try world.create(RuledWorld.document(1), RuledWorld.document(2, owner: "ada"))
        try world.observe("ada", "Document")
        #expect(try world.held("ada") == [2])
        let rules = RuledWorld.rules.replacing("owner.id == $user.id OR team IN", with: "team IN")
        world.deploy(try RulesFile(rules))
        #expect(try world.held("ada") == [])
        #expect(world["ada"].removals[.int(2)] == .permission)
        world.deploy(try RulesFile(RuledWorld.rules))
        #expect(try world.held("ada") == [2])
    }

    @Test func aServerThatStartsWithItsOldFileDoesNotUndoWhatWasStoredSince() throws {
        let storage = try SQLiteServerStorage.open(.memory, databaseID: ObjectID(high: 1, low: 1))
        func start(_ condition: String) throws -> [UInt8]? {
            let engine = engine(storage)
            try engine.begin(with: file(condition), isWritable: true)
            return try storage.rules(ofVersion: storage.rulesVersion)
        }
        #expect(try start("id == 1") == file("id == 1").canonicalBytes)
        _ = try engine(storage).deploy(file("id == 2"))
        #expect(try start("id == 1") == file("id == 2").canonicalBytes)
        #expect(try storage.rulesVersion == 2)
        // A file that was never stored is news.
        #expect(try start("id == 3") == file("id == 3").canonicalBytes)
        #expect(try start("id == 2") == file("id == 3").canonicalBytes)
    }

    @Test func whatIsStoredOverTheRulesOfANewDatabaseComesAfterThem() throws {
        let storage = try SQLiteServerStorage.open(.memory, databaseID: ObjectID(high: 1, low: 1))
        let engine = engine(storage)
        try engine.begin(with: file("id == 1"), isWritable: false)
        #expect(try storage.rulesVersion == 0)
        #expect(try engine.deploy(file("id == 2")) == (2, true))
        #expect(try storage.rules(ofVersion: 1) == file("id == 1").canonicalBytes)
    }
}
