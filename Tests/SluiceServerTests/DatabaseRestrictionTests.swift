import Foundation
import SluiceModel
import SluiceStorage
import SluiceTransport
import SluiceWire
import Synchronization
import Testing

@testable import SluiceServer

/// Which databases clients may open, and how one is deleted.
struct DatabaseRestrictionTests {
    private struct Unexpected: Error {}

    /// Keeps events in memory.
    private final class Events: AuditReceiver {
        private let events = Mutex<[AuditEvent]>([])

        var actions: [AuditEvent.Action] { events.withLock { $0.map(\.action) } }

        func receive(_ event: AuditEvent) { events.withLock { $0.append(event) } }
    }

    private final class Harness: Sendable {
        let server: SyncServer
        let folder: String?
        let events = Events()
        private let network = LoopbackNetwork()

        init(hasFolder: Bool = true) throws {
            folder = hasFolder ? NSTemporaryDirectory() + "restriction-\(UUID().uuidString)" : nil
            var configuration = ServerConfiguration(dataFolder: folder, host: "server")
            configuration.loopback = network
            configuration.allowsEverything = true
            configuration.logins.allowsAnonymous = true
            configuration.auditLog = events
            server = try SyncServer(configuration)
            try server.start()
        }

        deinit { if let folder { try? FileManager.default.removeItem(atPath: folder) } }

        /// Opens a session, which makes the database if it may.
        func open(_ database: String) async throws -> (client: RawClient, failure: ServerMessage.Failure?) {
            let client = RawClient()
            let connection = network.connect(to: try Endpoint("ws://server/any"), delegate: client)
            let schema = try Schema([
                ClassSchema("Note", primaryKey: "id", properties: [Property("id", .scalar(.int))])
            ])
            connection.send(
                .hello(.init(features: .all, agent: "test")),
                .open(.init(session: 1, path: database, schema: schema)))
            guard case .hello? = await client.next() else { throw Unexpected() }
            while let message = await client.next() {
                switch message {
                case .opened: return (client, nil)
                case .error(let failure): return (client, failure)
                default: continue
                }
            }
            throw Unexpected()
        }

        /// Why the open session of a client ends.
        func end(of client: RawClient) async throws -> ServerMessage.Failure {
            while let message = await client.next() {
                if case .error(let failure) = message { return failure }
            }
            throw Unexpected()
        }

        func files() throws -> [String] {
            try FileManager.default.contentsOfDirectory(atPath: folder ?? "").filter { $0.contains("sluicedb") }
                .sorted()
        }
    }

    @Test func clientsOpenTheDatabasesOfAClosedListAlone() async throws {
        let harness = try Harness()
        let (app, _) = try await harness.open("app")
        let (old, _) = try await harness.open("old")
        try harness.server.restrictDatabases(to: DatabaseRestriction(names: ["app", "next"]))
        let ended = try await harness.end(of: old)
        #expect(ended.code == .unknownDatabase && ended.action == .stop)
        #expect(try await harness.open("old").failure?.code == .unknownDatabase)
        #expect(try await harness.open("next").failure == nil)
        #expect(try await harness.open("app").failure == nil)
        #expect(harness.server.databaseNames == ["app", "next", "old"])
        #expect(harness.events.actions.contains(.databasesRestricted(to: "app, next")))
        #expect(harness.events.actions.contains(.sessionEnded(.administrator, by: "server")))
        try harness.server.restrictDatabases(to: DatabaseRestriction())
        #expect(try await harness.open("old").failure == nil)
        withExtendedLifetime(app) {}
        await harness.server.stop()
    }

    @Test(arguments: [true, false])
    func noFurtherDatabaseIsMadeWhereNoneMayBe(hasFolder: Bool) async throws {
        let harness = try Harness(hasFolder: hasFolder)
        let (app, _) = try await harness.open("app")
        try harness.server.restrictDatabases(to: DatabaseRestriction(allowsNew: false))
        let refused = try await harness.open("new").failure
        #expect(refused?.code == .unknownDatabase && refused?.message.contains("makes none") == true)
        #expect(try await harness.open("app").failure == nil)
        #expect(harness.server.databaseNames == ["app"])
        withExtendedLifetime(app) {}
        await harness.server.stop()
    }

    /// A database in memory that nobody uses is closed; it is no new one when somebody comes back.
    @Test func databasesInMemoryThatWereThereStayAllowedUntilTheyAreDeleted() throws {
        let gate = try DatabaseGate(nil, log: nil)
        try gate.restrict(to: DatabaseRestriction(allowsNew: false), existing: ["app"])
        #expect(gate.refusal(of: "app", isOpen: { false }) == nil)
        #expect(gate.refusal(of: "new", isOpen: { false })?.isPassing == false)
        try gate.restrict(to: DatabaseRestriction(allowsNew: false), existing: [])
        #expect(gate.refusal(of: "app", isOpen: { false }) == nil)
        gate.forget("app")
        #expect(gate.refusal(of: "app", isOpen: { false }) != nil)
        try gate.restrict(to: DatabaseRestriction(), existing: ["app"])
        try gate.restrict(to: DatabaseRestriction(allowsNew: false), existing: [])
        #expect(gate.refusal(of: "app", isOpen: { false }) != nil)
    }

    @Test func `whoever wants no database made is told the nearest name, if the user may know it`() throws {
        let folder = NSTemporaryDirectory() + "absence-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        for name in ["shop", "closed", "nyc"] {
            #expect(FileManager.default.createFile(atPath: "\(folder)/\(name).sluicedb", contents: Data([1])))
        }
        let gate = try DatabaseGate(folder, log: nil, tellsNames: { $0.id == "root" })
        func absence(_ name: String, _ user: String) -> String? {
            gate.absence(of: name, for: User(id: user, mayExtendSchema: true), isOpen: { true })
        }
        #expect(absence("shop", "root") == nil && absence("shop", "ada") == nil)
        #expect(absence("shpo", "root") == "the server has no database 'shpo'; did you mean 'shop'?")
        #expect(absence("Shop", "root") == "the server has no database 'Shop'; did you mean 'shop'?")
        #expect(absence("shpo", "ada") == "the server has no database 'shpo'")
        #expect(absence("zebra", "root") == "the server has no database 'zebra'")
        // One that clients may not open is not named.
        try gate.restrict(to: DatabaseRestriction(names: ["shop"]), existing: [])
        #expect(absence("nycc", "root") == "the server has no database 'nycc'")
        // Of a folder that is gone nobody knows what it has: opening says that it is gone.
        try gate.restrict(to: DatabaseRestriction(allowsNew: false), existing: [])
        #expect(gate.refusal(of: "zebra", isOpen: { false }) != nil)
        #expect(rename(folder, folder + "-elsewhere") == 0)
        #expect(absence("shop", "root") == nil && absence("zebra", "root") == nil)
        #expect(gate.refusal(of: "zebra", isOpen: { false }) == nil)
        #expect(rename(folder + "-elsewhere", folder) == 0)
        #expect(absence("zebra", "root") == "the server has no database 'zebra'")
        // A node asks its cluster, and databases in memory are those that are open.
        #expect(
            try DatabaseGate(folder, log: nil, isOfNode: true).absence(
                of: "shpo", for: User(id: nil, mayExtendSchema: true), isOpen: { false }) == nil)
        let memory = try DatabaseGate(nil, log: nil)
        let nobody = User(id: nil, mayExtendSchema: true)
        #expect(memory.absence(of: "shop", for: nobody, isOpen: { true }) == nil)
        #expect(memory.absence(of: "shop", for: nobody, isOpen: { false }) != nil)
    }

    @Test(arguments: [
        ("shpo", ["nyc", "shop"], "did you mean 'shop'?"), ("NYC", ["nyc", "shop"], "did you mean 'nyc'?"),
        ("zebra", ["nyc", "shop"], "it has nyc, shop"), ("zebra", [], "it has none"),
        (
            "zebra", (10...21).map { "db-\($0)" },
            "it has " + (10...19).map { "db-\($0)" }.joined(separator: ", ") + " and 2 more"
        ),
    ])
    func `the hint for a name that is not there is the nearest one, or those that are`(
        name: String, known: [String], hint: String
    ) {
        #expect(DatabaseName.hint(for: name, among: known) == hint)
    }

    /// A client may come again as soon as it was told that the database is open, and the gate asks the same record.
    @Test func aDatabaseIsKnownToBeOpenBeforeTheFirstSessionIsToldSo() async throws {
        let (answers, answered) = AsyncStream<HealthRecord.State>.makeStream()
        let health = Mutex<HealthRecord?>(nil)
        let worker = DatabaseWorker(
            "app", clock: ServerClock(now: { Timestamp(microseconds: 1) }), log: nil,
            makeEngine: { _ in
                let storage = try SQLiteServerStorage.open(.memory, databaseID: ObjectID(high: 7, low: 7))
                return DatabaseEngine(name: "app", storage: storage) { 7 }
            },
            makeRoom: { $0() },
            carryOut: { _, _ in
                guard let state = health.withLock({ $0?.state }) else { return }
                answered.yield(state)
            })
        health.withLock { $0 = worker.health }
        let open = ClientMessage.Open(session: 1, path: "app", schema: Schema())
        #expect(worker.post(.open(SessionID(connection: 1, session: 1), open, User(id: nil, mayExtendSchema: true))))
        guard case .open? = await answers.first(where: { _ in true }) else {
            Issue.record("the session was told before the database was known to be open")
            return
        }
    }

    @Test func whatACommandWritesHoldsWhileTheServerRunsAndAfterIt() async throws {
        let harness = try Harness()
        let folder = try #require(harness.folder)
        let gate = try DatabaseGate(folder, log: nil)
        let file = RestrictionFile(inFolder: folder)
        try file.change { $0.names = ["app"] }
        #expect(gate.readAgain() && !gate.readAgain())
        #expect(gate.refusal(of: "other", isOpen: { true })?.isPassing == false)
        #expect(gate.refusal(of: "app", isOpen: { true }) == nil)
        try file.change { $0.closed.insert("app") }
        #expect(gate.readAgain() && gate.refusal(of: "app", isOpen: { true })?.isPassing == true)
        // What cannot be read changes nothing, and ends the next start.
        try "{\"names\": 7}".write(toFile: folder + "/server.databases", atomically: true, encoding: .utf8)
        #expect(!gate.readAgain() && gate.refusal(of: "other", isOpen: { true }) != nil)
        #expect {
            try DatabaseGate(folder, log: nil)
        } throws: { error in
            "\(error)".contains("server.databases") && "\(error)".contains("\"names\" is a list of names")
        }
        try file.change(isAnew: true) { $0.names = nil }
        #expect(try DatabaseGate(folder, log: nil).restriction == DatabaseRestriction())
        await harness.server.stop()
    }

    @Test(arguments: [
        ("[]", "no JSON object"), ("{", "not JSON"), (#"{"name": []}"#, "no 'name'"),
        (#"{"names": ["a/b"]}"#, "no name"),
        (#"{"new": 1}"#, "true or false"), (#"{"closed": [1]}"#, "no name"),
    ])
    func aFileThatSaysNoRestrictionIsRefusedWithTheReason(_ text: String, _ reason: String) throws {
        #expect {
            try DatabaseRestriction(text)
        } throws: { error in (error as? DatabaseRestriction.Problem)?.message.contains(reason) == true }
    }

    @Test func aRestrictionIsReadAsItWasWritten() throws {
        var restriction = DatabaseRestriction(names: ["a", "b-c"], allowsNew: false)
        restriction.closed = ["d"]
        #expect(try DatabaseRestriction(restriction.text) == restriction)
        #expect(try DatabaseRestriction("{}") == DatabaseRestriction())
    }

    @Test(arguments: [true, false])
    func aDatabaseIsDeletedUnlessSomebodyUsesIt(hasFolder: Bool) async throws {
        let harness = try Harness(hasFolder: hasFolder)
        let (client, _) = try await harness.open("app")
        await #expect {
            try await harness.server.deleteDatabase("app")
        } throws: { ($0 as? ServerError)?.code == .inUse }
        #expect(harness.server.databaseNames == ["app"])
        try await harness.server.deleteDatabase("app", endsSessions: true)
        #expect(try await harness.end(of: client).code == .unknownDatabase)
        #expect(harness.server.databaseNames == [])
        if hasFolder { #expect(try harness.files() == ["app.sluicedb-lock"]) }
        #expect(harness.events.actions.suffix(2) == [.sessionEnded(.administrator, by: "server"), .databaseDeleted])
        await #expect(throws: ServerError.self) { try await harness.server.deleteDatabase("app") }
        await #expect(throws: ServerError.self) { try await harness.server.deleteDatabase("../app") }
        // Another one of the name begins anew.
        #expect(try await harness.open("app").failure == nil)
        await harness.server.stop()
    }

    @Test func aSummarySaysWhatADatabaseHasBesideItsWriter() async throws {
        let harness = try Harness()
        let (client, _) = try await harness.open("app")
        let summary = try await harness.server.databaseSummary("app")
        #expect(summary.classCount == 1 && summary.objectCount == 0 && summary.rulesVersion == 0)
        #expect(summary.byteCount > 4_096)
        await #expect(throws: ServerError.self) { try await harness.server.databaseSummary("none") }
        withExtendedLifetime(client) {}
        await harness.server.stop()
    }

    @Test func aDeletionThatWasInterruptedIsFinishedByWhoeverComesNext() throws {
        let folder = NSTemporaryDirectory() + "removal-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let path = folder + "/app.sluicedb"
        func make() throws {
            try SQLiteServerStorage.open(.file(path), databaseID: ObjectID(high: 1, low: 1)).close()
        }
        func rest() throws -> [String] {
            try FileManager.default.contentsOfDirectory(atPath: folder).filter { $0 != "app.sluicedb-lock" }
        }
        // The process ended after the file was renamed.
        try make()
        try FileManager.default.moveItem(atPath: path, toPath: path + "-deleted")
        #expect(throws: StorageError.self) { try make() }
        try DatabaseRemoval.finish(path)
        #expect(try rest() == [])
        try make()
        // And before anything else was done: the database is whole.
        try DatabaseRemoval.finish(path)
        #expect(try DatabaseGlance(at: path).version == 0)
        // A database that is open is not deleted.
        let open = try SQLiteServerStorage.open(.file(path), databaseID: ObjectID(high: 1, low: 1))
        #expect {
            try DatabaseRemoval.remove(path)
        } throws: { ($0 as? StorageError)?.code == .locked }
        #expect(FileManager.default.fileExists(atPath: path))
        open.close()
        #expect(try DatabaseRemoval.remove(path))
        #expect(try rest() == [])
        #expect(try !DatabaseRemoval.remove(path))
        // What is left of a database whose file vanished goes, too.
        try make()
        try FileManager.default.removeItem(atPath: path)
        #expect(try DatabaseRemoval.remove(path))
        #expect(try rest() == [])
    }
}
