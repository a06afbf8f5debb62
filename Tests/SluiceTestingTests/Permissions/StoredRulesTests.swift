import SluiceModel
import SluiceRules
import SluiceServer
import SluiceStorage
import Synchronization
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
        try self.engine(storage).begin(with: file("id == 2"), isWritable: true, now: Self.time)
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

    private static let time = Timestamp(microseconds: 1_000)

    /// What a server with a file of rules makes of a database, when it opens it or has read the file again.
    private func compare(
        _ condition: String, with storage: SQLiteServerStorage, _ cause: RulesOrigin.Cause, log: LogSink? = nil
    ) throws -> [UInt8]? {
        let engine = DatabaseEngine(name: "documents", storage: storage, workerID: "w", log: log) { 1 }
        try engine.begin(with: file(condition), isWritable: true, because: cause, now: Self.time)
        return try storage.rules(ofVersion: storage.rulesVersion)
    }

    /// The answer is the same at a start and when the file is read again.
    @Test(arguments: [RulesOrigin.Cause.file, .reload])
    func `a file holds when it has changed and not because somebody starts or reads it again`(
        cause: RulesOrigin.Cause
    ) throws {
        let storage = try SQLiteServerStorage.open(.memory, databaseID: ObjectID(high: 1, low: 1))
        func compare(_ condition: String) throws -> [UInt8]? { try self.compare(condition, with: storage, cause) }
        #expect(try compare("id == 1") == file("id == 1").canonicalBytes)
        _ = try engine(storage).deploy(file("id == 2"))
        for _ in 0..<2 { #expect(try compare("id == 1") == file("id == 2").canonicalBytes) }
        #expect(try storage.rulesVersion == 2)
        // Another file is news, and so is one that goes back.
        #expect(try compare("id == 3") == file("id == 3").canonicalBytes)
        #expect(try compare("id == 1") == file("id == 1").canonicalBytes)
        #expect(try storage.rulesVersion == 4)
        // A file that follows what was deployed changes nothing, and is no news afterwards.
        _ = try engine(storage).deploy(file("id == 5"))
        #expect(try compare("id == 5") == file("id == 5").canonicalBytes)
        #expect(try storage.rulesVersion == 5)
        _ = try engine(storage).deploy(file("id == 6"))
        #expect(try compare("id == 5") == file("id == 6").canonicalBytes)
    }

    @Test func `each server compares with its own file, and a new replica with the history`() throws {
        let storage = try SQLiteServerStorage.open(.memory, databaseID: ObjectID(high: 1, low: 1))
        let replica = try SQLiteServerStorage.open(.memory, databaseID: ObjectID(high: 1, low: 1))
        func follow() throws {
            for record in try storage.records(after: replica.head.position, countMax: 10) {
                _ = try replica.transaction { try replica.apply(record) }
            }
        }
        #expect(try compare("id == 1", with: storage, .file) == file("id == 1").canonicalBytes)
        #expect(try compare("id == 2", with: storage, .file) == file("id == 2").canonicalBytes)
        try follow()
        #expect(try replica.digest { false } == storage.digest { false })
        // The other server has the file of before, as one that was not updated yet.
        #expect(try replica.heededRules == nil)
        #expect(try compare("id == 1", with: replica, .file) == file("id == 2").canonicalBytes)
        #expect(try replica.rulesVersion == 2)
        // What it remembers of its file is no part of the database.
        #expect(try replica.heededRules != storage.heededRules)
        #expect(replica.head == storage.head)
        #expect(try replica.digest { false } == storage.digest { false })
    }

    @Test func `the log says which rules hold, and why`() throws {
        let storage = try SQLiteServerStorage.open(.memory, databaseID: ObjectID(high: 1, low: 1))
        let lines = Mutex<[LogLine]>([])
        let log = LogSink(level: .info) { line in lines.withLock { $0.append(line) } }
        func said(_ condition: String) throws -> (message: String, details: [String: String]) {
            lines.withLock { $0 = [] }
            _ = try compare(condition, with: storage, .file, log: log)
            let all = lines.withLock { $0 }
            #expect(all.count == 1)
            let line = try #require(all.last)
            return (line.message, Dictionary(line.metadata.map { ($0.name, $0.value) }) { first, _ in first })
        }
        let first = try said("id == 1")
        #expect(first.message == "the rules of the server's file hold")
        #expect(first.details["version"] == "1" && first.details["reason"] == "the database had none")
        #expect(first.details["by"] == "the server's file, at w" && first.details["since"] == Self.time.description)
        #expect(try said("id == 1").details["reason"] == "the database has the same")
        let origin = RulesOrigin(.client, at: Timestamp(microseconds: 5_000), userID: "ada")
        _ = try engine(storage).deploy(file("id == 2"), from: origin)
        let overtaken = try said("id == 1")
        #expect(overtaken.message.contains("other rules, which were stored after those of the server's file"))
        #expect(overtaken.details["by"] == "user ada" && overtaken.details["since"] == origin.time.description)
        #expect(overtaken.details["reason"] == "the file is the same as when it was compared last")
        #expect(try said("id == 3").details["reason"] == "the file has changed since it was compared last")
        lines.withLock { $0 = [] }
        try DatabaseEngine(name: "documents", storage: storage, log: log) { 1 }
            .begin(with: nil, isWritable: true, now: Self.time)
        #expect(lines.withLock { $0.map(\.message) } == ["the rules that the database has hold"])
    }

    @Test func `each version has its origin as long as it is kept`() throws {
        let storage = try SQLiteServerStorage.open(.memory, databaseID: ObjectID(high: 1, low: 1))
        let engine = engine(storage)
        let countMax = SQLiteServerStorage.ruleVersionCountMax
        func origin(_ number: Int) -> RulesOrigin {
            RulesOrigin(.client, at: Timestamp(microseconds: Int64(number)), userID: "user \(number)")
        }
        for number in 1...countMax + 2 { _ = try engine.deploy(file("id == \(number)"), from: origin(number)) }
        for number in 1...countMax + 2 {
            #expect(try storage.rulesOrigin(ofVersion: number) == (number > 2 ? origin(number) : nil))
        }
        // Those of an older server have none.
        _ = try engine.deploy(file("id == 0"))
        #expect(try storage.rulesOrigin(ofVersion: countMax + 3) == nil)
    }

    @Test func whatIsStoredOverTheRulesOfANewDatabaseComesAfterThem() throws {
        let storage = try SQLiteServerStorage.open(.memory, databaseID: ObjectID(high: 1, low: 1))
        let engine = engine(storage)
        try engine.begin(with: file("id == 1"), isWritable: false, now: Self.time)
        #expect(try storage.rulesVersion == 0)
        let origin = RulesOrigin(.client, at: Self.time, userID: "ada")
        #expect(try engine.deploy(file("id == 2"), from: origin) == (2, true))
        #expect(try storage.rules(ofVersion: 1) == file("id == 1").canonicalBytes)
        #expect(try storage.rulesOrigin(ofVersion: 1)?.cause == .file)
        #expect(try storage.rulesOrigin(ofVersion: 2) == origin)
        // The file of then says nothing new.
        try self.engine(storage).begin(with: file("id == 1"), isWritable: true, now: Self.time)
        #expect(try storage.rulesVersion == 2)
    }
}
