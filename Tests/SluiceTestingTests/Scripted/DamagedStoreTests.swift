import Foundation
import Sluice
import SluiceModel
import SluiceStorage
import SluiceWire
import TestSupport
import Testing

/// Damages each page of a client's store in turn and in each way: the store reports it, and does not try without end.
@Suite struct DamagedStoreTests {
    private static let rows = (1...2_000).map { ScriptedSession.user($0, age: $0 % 90) }

    /// How a damaged store was used.
    private enum Ending: Equatable {
        /// It could not be opened, or not be observed.
        case refused(String)
        /// Syncing stopped.
        case stopped(SyncError)
        /// Everything went as without damage.
        case served
        /// It tries again without end.
        case none
    }

    private func withFolder(_ body: (String) throws -> Void) throws {
        let folder = FileManager.default.temporaryDirectory.path + "/sluice-damage-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try body(folder)
    }

    /// Makes a store with all users, a subscription to them, and a write that is not uploaded.
    private func make(_ path: String) throws -> Data {
        let server = try ScriptedSession(at: .file(path))
        _ = try server.engine.observe(server.query("User")) { _ in }
        server.open()
        server.bootstrap(1, Self.rows)
        try server.setAge(of: 1, to: 99)
        server.engine.close()
        server.storage.close()
        return try Data(contentsOf: URL(filePath: path))
    }

    /// Opens a store, observes, syncs and writes.
    private func use(_ path: String, _ events: EventLog) -> Ending {
        let server: ScriptedSession
        do { server = try ScriptedSession(at: .file(path)) } catch { return .refused("\(error)") }
        defer {
            server.engine.close()
            server.storage.close()
        }
        do {
            _ = try server.engine.observe(server.query("User")) { events.events.append($0) }
            _ = try server.engine.observe(server.query("User WHERE age == 5")) { _ in }
        } catch {
            return .refused("\(error)")
        }
        for _ in 0..<5 {
            server.open(.resumed)
            server.bootstrap(1, Self.rows)
            server.bootstrap(2, Self.rows.filter { $0.values[1] == .int(5) })
            server.commit(4, to: 1, [ScriptedSession.user(5, age: 77, version: 4)], acknowledged: 1)
            try? server.setAge(of: 7, to: 70)
            let isTryingAgain = server.actions().contains { if case .reconnect = $0 { true } else { false } }
            if isTryingAgain { continue }
            var failure: SyncError?
            _ = server.engine.whenConnected { result in
                if case .failure(let error) = result { failure = error }
                return true
            }
            return failure.map { .stopped($0) } ?? .served
        }
        return .none
    }

    @Test(arguments: PageDamage.allCases)
    func aStoreWithADamagedPageSaysSoAndDoesNotTryForEver(damage: PageDamage) throws {
        try withFolder { folder in
            let path = folder + "/store"
            let whole = try make(path)
            var endings: [Ending] = []
            for page in damage.firstPage..<whole.count / PageDamage.pageSize {
                let place = "\(damage.rawValue) page \(page)"
                var file = whole
                var generator = SeededGenerator(seed: UInt64(page))
                damage.apply(to: &file, page: page, using: &generator)
                for suffix in ["-wal", "-shm", "-marker"] { try? FileManager.default.removeItem(atPath: path + suffix) }
                try file.write(to: URL(filePath: path))
                let events = EventLog()
                let ending = use(path, events)
                endings.append(ending)
                #expect(ending != .none, "\(place)")
                if case .stopped(let error) = ending, damage.isSeen {
                    #expect(error.code == .storage, "\(place): \(error)")
                    #expect(error.message.contains(path), "\(place): \(error)")
                }
                if ending == .served, damage.isSeen, let last = events.events.last {
                    #expect(last.status.state == .error || last.list.visible.count == Self.rows.count, "\(place)")
                }
            }
            #expect(endings.contains { $0 != .served })
        }
    }

    @Test func theStoreErrorOfADamagedPageNamesTheFileAndSQLitesReason() async throws {
        let folder = FileManager.default.temporaryDirectory.path + "/sluice-damage-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let path = folder + "/store"
        let whole = try make(path)
        var errors: [StoreError] = []
        for page in 1..<whole.count / PageDamage.pageSize {
            var file = whole
            var generator = SeededGenerator(seed: 1)
            PageDamage.beheaded.apply(to: &file, page: page, using: &generator)
            for suffix in ["-wal", "-shm", "-marker"] { try? FileManager.default.removeItem(atPath: path + suffix) }
            try file.write(to: URL(filePath: path))
            let schema = try Schema([
                ClassSchema(
                    "User", primaryKey: "id",
                    properties: [Property("id", .scalar(.int)), Property("age", .scalar(.int))])
            ])
            do {
                let store = try await Store.open(StoreConfiguration(path: path, schema: schema))
                do { #expect(try store.records("User").fetch().count == Self.rows.count) } catch let error as StoreError
                {
                    errors.append(error)
                }
                await store.close()
            } catch let error as StoreError {
                errors.append(error)
            }
        }
        #expect(!errors.isEmpty)
        for error in errors {
            #expect(error.code == .damaged)
            #expect(error.message.contains(path))
        }
        #expect(errors.contains { $0.message.contains("database disk image is malformed") })
    }
}
