import Foundation
import Sluice
import SluiceAccess
import SluiceJSON
import SluiceModel
import SluiceQuery
import SluiceRules
import SluiceServer
import SluiceStorage
import SluiceViews
import SluiceWire
import Testing

/// A server with rules and one client for each of some users, driven by hand. Everything that the server sends is
/// compared with what its receiver may read at that moment, by a reading of the rules of its own.
final class RuledWorld {
    final class Observation {
        var id: UInt64 = 0
    }

    /// One user's store and connection.
    final class Client {
        let user: String
        var claims: JSONValue
        let storage: SQLiteClientStorage
        var engine: ClientEngine
        var connection: ConnectionProtocol?
        var number: UInt64 = 0
        var isReachable = true
        var rejections: [WriteRejection] = []
        var removals: [ObjectKey: RemovalReason] = [:]
        var results: [String: [ObjectRef]] = [:]
        var errors: [String: SyncError.Code] = [:]
        /// The observations that go on, by query.
        var observations: [String: Observation] = [:]
        /// The observations that have handled their last event.
        var ready: [Observation] = []
        /// Every object of which something was ever sent.
        var sent: Set<ObjectRef> = []
        /// Every object that its user could read at some time.
        var readable: Set<ObjectRef> = []
        var frames: [[ServerMessage]] = []
        /// Every text that was ever sent.
        var texts: Set<String> = []
        /// What the client has sent and the server has not received; nil if nothing is held back.
        var heldFrames: [[UInt8]]?

        /// The key of the user's object.
        var key: ObjectKey { .string(user) }

        init(_ user: String, claims: JSONValue, storage: SQLiteClientStorage, engine: ClientEngine) {
            self.user = user
            self.claims = claims
            self.storage = storage
            self.engine = engine
        }
    }

    let server: SQLiteServerStorage
    var engine: DatabaseEngine
    let makeServer: () throws -> DatabaseEngine
    /// What users may read where the rules are others than ``rules``: user, object and its row.
    let oracle: ((RuledWorld, String, ObjectRef, Row) throws -> Bool)?
    /// The lines that the server has logged.
    let log = ServerLog()
    private(set) var clients: [String: Client] = [:]
    var time: Int64 = 1_000_000
    var connectionCount: UInt64 = 0
    private var number: UInt64 = 0
    var problems: [String] = []
    /// The clients that speak the JSON form.
    var readers: [JSONReader] = []
    var options = ClientOptions()
    /// The properties that a user may not read, by class, read naively.
    var hidden: (Client) throws -> [Int: PropertySet] = { _ in [:] }
    /// The classes of which nobody is told a key of an object that they may not read.
    var veiled: Set<Int> = []
    /// Whether the server sends pages; if not, bootstraps stay where they are.
    var sendsPages = true
    /// Whether what is read beside the writer waits.
    var delaysReadings = false
    private let folder: String?
    /// Which rules the oracle reads.
    var regime = RuledRegime()
    /// Whether the rules are others than those that the oracle reads.
    var skipsOracle = false
    /// The server's objects when the oracle read them last.
    var storedObjects: StoredObjects?

    init(
        rules: String = RuledWorld.rules, users: [String], limits: DatabaseLimits = DatabaseLimits(),
        variables: ValueMap = ValueMap(), isFile: Bool = false,
        oracle: ((RuledWorld, String, ObjectRef, Row) throws -> Bool)? = nil,
        configure: (inout ClientOptions) -> Void = { _ in }
    ) throws {
        configure(&options)
        self.oracle = oracle
        folder = isFile ? NSTemporaryDirectory() + "/sluice-ruled-" + UUID().uuidString : nil
        if let folder { try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true) }
        let storage = try SQLiteServerStorage.open(
            folder.map { .file($0 + "/documents") } ?? .memory, databaseID: ObjectID(high: 1, low: 1))
        _ = try storage.transaction { try storage.merge(Self.schema(), sides: ("the server", "the test")) }
        server = storage
        var state: UInt64 = 0
        let file = try RulesFile(rules)
        makeServer = { [log] in
            DatabaseEngine(
                name: "documents", storage: storage, limits: limits, log: log.sink, rules: AccessRules(file)
            ) {
                state += 1
                return state
            }
        }
        engine = try makeServer()
        try addClient("root", claims: .object([.init(name: "role", value: .string("admin"))]))
        for user in users { try addClient(user, variables: variables) }
        connect("root")
        try write("root") { writer in
            for user in users + ["root"] {
                try writer.insert(Row(key: .string(user), values: [.string(user)]), ofClass: ClassIndex.user)
            }
        }
        for user in users { connect(user) }
    }

    deinit {
        guard let folder else { return }
        server.close()
        try? FileManager.default.removeItem(atPath: folder)
    }

    private func addClient(
        _ user: String, claims: JSONValue = .object([]), variables: ValueMap = ValueMap()
    ) throws {
        let storage = try SQLiteClientStorage.open(.memory)
        _ = try storage.transaction { try storage.merge(Self.schema(), sides: ("the store", "the models")) }
        let client = Client(user, claims: claims, storage: storage, engine: try makeEngine(storage, variables))
        client.engine.onRejection = { [unowned client] in client.rejections.append($0) }
        clients[user] = client
    }

    func makeEngine(
        _ storage: SQLiteClientStorage, _ variables: ValueMap = ValueMap()
    ) throws -> ClientEngine {
        var options = options
        options.variables = variables
        options.databaseName = "documents"
        return try ClientEngine(
            storage: storage, options: options, now: { [unowned self] in now },
            random: { [unowned self] in
                number += 1
                return number
            })
    }

    var now: Timestamp { Timestamp(microseconds: time) }

    subscript(user: String) -> Client { clients[user]! }
}
