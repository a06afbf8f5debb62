import Foundation
import Sluice
import SluiceModel
import SluiceTesting
import TestSupport
import Testing

/// Results that can no longer be read, because the file of an open store was damaged.
@Suite(.timeLimit(.minutes(5))) struct DamagedResultsTests {
    private let schema: Schema
    private let ownerCount: Int64 = 2_000

    init() throws {
        schema = try Schema([
            ClassSchema(
                "Owner", primaryKey: "id", properties: [Property("id", .scalar(.int)), Property("age", .scalar(.int))]),
            ClassSchema(
                "Car", primaryKey: "id", properties: [Property("id", .scalar(.int)), Property("owner", .link("Owner"))]),
        ])
    }

    private func open(_ path: String) async throws -> Store {
        try await Store.open(StoreConfiguration(path: path, schema: schema))
    }

    private func fill(_ path: String) async throws {
        let store = try await open(path)
        let owners = try (1...ownerCount).map { try Record(schema[0], ["id": .int($0), "age": .int($0 % 90)]) }
        let cars = try (1...ownerCount).map { try Record(schema[1], ["id": .int($0), "owner": .link(.int($0))]) }
        try await store.write { transaction in
            for record in owners + cars { try transaction.insert(record) }
        }
        await store.close()
    }

    @Test func theObserverIsToldOnceAndTheWriteStands() async throws {
        let folder = FileManager.default.temporaryDirectory.path + "/sluice-damage-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let path = folder + "/store"
        try await fill(path)
        let store = try await open(path)
        // The pages that this write reads stay in SQLite's cache.
        let owner = Identity(className: "Owner", key: .int(ownerCount))
        try await store.write { try $0.update(owner, set: ["age": .int(40)]) }
        let recorder = try EventRecorder(store.records("Car WHERE owner.age > 30"))
        _ = try await recorder.event { $0.isInitial }
        // A change of an owner reads the index of links for the first time, to find whom it concerns.
        let file = try #require(FileHandle(forUpdatingAtPath: path))
        let size = try file.seekToEnd()
        try file.seek(toOffset: UInt64(PageDamage.pageSize))
        try file.write(contentsOf: Data(count: Int(size) - PageDamage.pageSize))
        try file.close()
        try await store.write { try $0.update(owner, set: ["age": .int(20)]) }
        let last = try await recorder.event { $0.state == .error }
        #expect(last.subscription.error?.code == .storage)
        #expect(last.subscription.error?.message.contains(path) == true)
        // A further write causes no event.
        try await store.write { try $0.update(owner, set: ["age": .int(21)]) }
        await store.close()
        #expect(recorder.events.count { $0.state == .error } == 1)
    }
}
