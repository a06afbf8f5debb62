import Sluice
import SluiceModel
import SluiceServer
import TestSupport
import Testing

/// Values on their way from one store through a server to another store.
struct ValuePathTests {
    private static func store(_ network: LoopbackNetwork, _ declared: ClassSchema) async throws -> Store {
        var sync = SyncConfiguration(url: "ws://server/values")
        sync.loopback = network
        return try await Store.open(StoreConfiguration(schema: try Schema([declared]), sync: sync))
    }

    private static func start(_ network: LoopbackNetwork) throws -> SyncServer {
        var configuration = ServerConfiguration(host: "server", isDevelopment: true)
        configuration.loopback = network
        let server = try SyncServer(configuration)
        try server.start()
        return server
    }

    private static func contents(_ records: [Record]) -> [ObjectID: [String]] {
        Dictionary(uniqueKeysWithValues: records.map { ($0.objectID, $0.row.values.map(EdgeValues.bits)) })
    }

    @Test(arguments: [1, 2, 3] as [UInt64])
    func everyValueReachesEveryReaderBitForBit(seed: UInt64) async throws {
        var random = SeededGenerator(seed: seed)
        let declared = try EdgeValues.everything()
        let ids = ObjectIDGenerator(origin: 7)
        let records = try (0..<24).map { _ in
            let values = declared.properties.map { ($0.name, EdgeValues.value(of: $0.type, using: &random)) }
            return try Record(declared, Dictionary(uniqueKeysWithValues: values), ids: ids)
        }
        let network = LoopbackNetwork()
        let server = try Self.start(network)
        let writer = try await Self.store(network, declared)
        let early = try await Self.store(network, declared)
        let seen = try await early.records(ofClass: declared.name).synced(timeout: .seconds(60))
        #expect(seen.isEmpty)
        try await writer.write { for record in records { try $0.insert(record) } }
        try await writer.uploaded(timeout: .seconds(60))
        let expected = Self.contents(records)
        #expect(Self.contents(try writer.records(ofClass: declared.name).fetch()) == expected, "seed \(seed)")
        for reader in [early, try await Self.store(network, declared)] {
            let read = try await reader.records(ofClass: declared.name).synced(timeout: .seconds(60))
            #expect(Self.contents(read) == expected, "seed \(seed)")
        }
        await server.stop()
    }

    @Test func aZeroThatOnlyChangesItsSignIsWrittenAndSent() async throws {
        let properties = [
            Property("double", .scalar(.double)), Property("float", .scalar(.float)),
            Property("list", PropertyType(.scalar(.double), container: .list)),
            Property("map", PropertyType(.scalar(.double), container: .map)),
        ]
        let declared = try ClassSchema("Zero", properties: properties)
        let network = LoopbackNetwork()
        let server = try Self.start(network)
        let (writer, reader) = (try await Self.store(network, declared), try await Self.store(network, declared))
        func values(_ zero: Double) -> [String: Value] {
            [
                "double": .double(zero), "float": .float(Float(zero)), "list": .list([.double(1), .double(zero)]),
                "map": .map(ValueMap([("k", .double(zero))])),
            ]
        }
        let record = try Record(declared, values(0))
        try await writer.write { try $0.insert(record) }
        for zero in [-0.0, 0.0, -0.0] {
            let (identity, changes) = (record.identity, values(zero))
            try await writer.write { try $0.update(identity, set: changes) }
            try await writer.uploaded(timeout: .seconds(60))
            let read = try await reader.records(ofClass: "Zero").synced(timeout: .seconds(60))
            #expect(
                read.map { $0.row.values.map(EdgeValues.bits) } == [
                    declared.properties.map { EdgeValues.bits(changes[$0.name]!) }
                ])
            #expect(
                try reader.records("Zero WHERE double == 0 AND float == -0.0 AND list == 0 AND NOT double < 0").count()
                    == 1)
        }
        await server.stop()
    }
}
