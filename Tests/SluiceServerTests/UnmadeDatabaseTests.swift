import Foundation
import SluiceModel
import SluiceServer
import SluiceTesting
import SluiceTransport
import SluiceWire
import Testing

/// When a database gets its file: with its first class, from somebody who may declare it, and within the number that
/// there may be.
struct UnmadeDatabaseTests {
    private struct Unexpected: Error {}

    /// A server over a folder, where everybody with a name may log in.
    private final class Harness: Sendable {
        let server: SyncServer
        let folder = FileManager.default.temporaryDirectory.path + "/sluice-unmade-\(UUID().uuidString)"
        private let network = LoopbackNetwork()
        private let clock = ManualClock()

        init(hasFolder: Bool = true, rules: String? = nil, databaseCountMax: Int? = nil) throws {
            var configuration = ServerConfiguration(dataFolder: hasFolder ? folder : nil, host: "server")
            configuration.loopback = network
            configuration.now = { [clock] in clock.timestamp }
            configuration.rules = rules
            configuration.allowsEverything = rules == nil
            configuration.logins.allowsAnonymous = true
            configuration.quotas.databaseCountMax = databaseCountMax
            server = try SyncServer(configuration)
            try server.start()
        }

        deinit { try? FileManager.default.removeItem(atPath: folder) }

        func advance(seconds: Int) async {
            await network.flush()
            _ = await server.isQuiet()
            clock.advance(by: .seconds(seconds))
            await server.closeIdleDatabases()
        }

        static func schema() throws -> Schema {
            try Schema([ClassSchema("Note", primaryKey: "id", properties: [Property("id", .scalar(.int))])])
        }

        /// Opens a session on a new connection.
        ///
        /// - Returns: the failure of the session, if it is refused.
        func open(
            _ database: String, _ schema: Schema = Schema()
        ) async throws -> (client: RawClient, connection: any MessageConnection, failure: ServerMessage.Failure?) {
            let client = RawClient()
            let connection = network.connect(to: try Endpoint("ws://server/any"), delegate: client)
            connection.send(
                .hello(.init(features: .all, agent: "test")),
                .open(.init(session: 1, path: database, schema: schema)))
            guard case .hello? = await client.next() else { throw Unexpected() }
            while let message = await client.next() {
                switch message {
                case .opened: return (client, connection, nil)
                case .error(let failure): return (client, connection, failure)
                default: continue
                }
            }
            throw Unexpected()
        }

        var files: [String] {
            get throws {
                try FileManager.default.contentsOfDirectory(atPath: folder).filter { !$0.hasPrefix("server.") }.sorted()
            }
        }
    }

    private static let changesets = [
        Changeset(sequence: 1, baseVersion: 0, timestamp: HybridTimestamp(microseconds: 1), operations: []),
        Changeset(
            sequence: 2, baseVersion: 0, timestamp: HybridTimestamp(microseconds: 1),
            operations: [ObjectOperation(ObjectRef(0, .int(1)), .create([]))]),
        Changeset(
            sequence: 3, baseVersion: 0, timestamp: HybridTimestamp(microseconds: 1),
            operations: [ObjectOperation(ObjectRef(7, .string("x")), .update([FieldOperation(3, .set(.int(1)))]))]),
    ]

    private static let rules = #"{"classes": {"Note": {"read": "id == 0"}}}"#

    @Test func whoMayDeclareNothingMakesNoDatabaseWhateverIsUploaded() async throws {
        let harness = try Harness(rules: Self.rules)
        for number in 0..<20 {
            let (client, connection, failure) = try await harness.open("made-up-\(number)")
            #expect(failure == nil)
            connection.send(.upload(session: 1, changesets: Self.changesets))
            var rejected: Set<UInt64> = []
            var acknowledged: UInt64 = 0
            while acknowledged < 3, let message = await client.next() {
                switch message {
                case .rejected(let message): rejected.insert(message.rejection.sequence)
                case .commit(let commit): acknowledged = max(acknowledged, commit.header.acknowledged ?? 0)
                default: break
                }
            }
            #expect(rejected == [2, 3])
            connection.send(.subscribe(.init(session: 1, subscription: 1, query: "Note")))
            guard case .subscriptionError? = await client.next() else { throw Unexpected() }
            connection.send(.declare(session: 1, schema: try Harness.schema()))
            guard case .error(let refusal)? = await client.next() else { throw Unexpected() }
            #expect(refusal.code == .permissionDenied)
            connection.abort()
        }
        #expect(try harness.files == [])
        await harness.server.stop()
        #expect(try harness.files == [])
    }

    @Test(arguments: [true, false]) func aNameWithoutADatabaseIsForgottenOnceNobodyUsesIt(hasFolder: Bool) async throws
    {
        let harness = try Harness(hasFolder: hasFolder)
        let schema = try Harness.schema()
        let (_, kept, _) = try await harness.open("kept", schema)
        let (_, used, _) = try await harness.open("used")
        for number in 0..<1_000 {
            let (client, connection, failure) = try await harness.open("made-up-\(number)")
            #expect(failure == nil)
            connection.abort()
            _ = await client.end()
        }
        // Those that came last may be in use while the others are looked at.
        #expect(harness.server.databaseNameCount < 600)
        kept.abort()
        await harness.advance(seconds: 120)
        // One in memory that has something stays.
        #expect(harness.server.databaseNameCount == (hasFolder ? 1 : 2))
        // Under a name that was forgotten, a database may be made.
        let (_, _, failure) = try await harness.open("made-up-7", schema)
        #expect(failure == nil)
        withExtendedLifetime(used) {}
        await harness.server.stop()
    }

    @Test func thereAreNoMoreDatabasesThanTheQuotaAndThoseThatAreThereGoOn() async throws {
        let harness = try Harness(databaseCountMax: 3)
        let schema = try Harness.schema()
        for number in 0..<3 {
            let (_, connection, failure) = try await harness.open("db\(number)", schema)
            #expect(failure == nil)
            connection.send(.close(session: 1))
        }
        for number in 3..<6 {
            let (_, _, failure) = try await harness.open("db\(number)", schema)
            #expect(failure?.action == .stop && failure?.message.contains("3 databases, its quota") == true)
        }
        #expect(
            try harness.files.filter { $0.hasSuffix(".sluicedb") } == ["db0.sluicedb", "db1.sluicedb", "db2.sluicedb"])
        #expect(try harness.files.allSatisfy { $0.hasPrefix("db0") || $0.hasPrefix("db1") || $0.hasPrefix("db2") })
        await harness.server.stop()
        // More than there may be by now, and all are served.
        let other = try Harness(databaseCountMax: 1)
        for file in try harness.files {
            try FileManager.default.copyItem(atPath: harness.folder + "/" + file, toPath: other.folder + "/" + file)
        }
        for number in 0..<3 {
            let (_, _, failure) = try await other.open("db\(number)", schema)
            #expect(failure == nil)
        }
        let (_, _, failure) = try await other.open("db3", schema)
        #expect(failure?.message.contains("1 databases, its quota") == true)
        await other.server.stop()
    }
}
