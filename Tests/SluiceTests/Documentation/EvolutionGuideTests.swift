import Foundation
import Sluice
import SluiceTesting
import Testing

#if SLUICE_MACROS
    @Model("Truck") private struct OldTruck {
        @PrimaryKey var vin: String
        var name: String
        var note = "none"
        var cost = 1
    }

    private enum Later {
        @Model("Truck") struct Truck {
            @PrimaryKey @Property(was: "vin") var number: String
            var name: String?
            @Property(was: "cost") var price = 1.0
        }

        /// A model that is newer still.
        @Model("Truck") struct NotedTruck {
            @PrimaryKey @Property(was: "vin") var number: String
            var name: String?
            var note: String?
            @Property(was: "price", "cost") var amount: Double?
        }
    }

    /// What docs/evolution.md says of models, beyond its tables.
    @Suite(.timeLimit(.minutes(10))) struct EvolutionGuideTests {
        private let server: TestServer
        private let old: Store

        init() async throws {
            server = try TestServer()
            old = try await server.open([OldTruck.self])
            try await old.write { try $0.insert(OldTruck(vin: "A", name: "a", cost: 3)) }
            try await old.uploaded()
        }

        /// Brings the old program back, which the server has asked to come again.
        private func reopenOld() async throws {
            server.cut(old)
            try await old.core.perform { _ in }
            server.restore(old)
            try await old.connected()
        }

        @Test func oldAndNewModelsShareObjects() async throws {
            let new = try await server.open([Later.Truck.self])
            try await new.write { transaction in
                try transaction.insert(Later.Truck(number: "B", name: "b", price: 4))
                try transaction.insert(Later.Truck(number: "C", name: nil, price: 4.5))
            }
            try await new.uploaded()
            try await reopenOld()
            let trucks = old.objects(OldTruck.self).where { $0.cost <= 4 && $0.vin == "B" }
            _ = try await trucks.synced()
            let truck = try #require(try trucks.first())
            #expect(truck.cost == 4 && truck.name == "b" && truck.note == "none")
            try await old.write { try $0.increment(truck, \.cost, by: 1) }
            try await old.uploaded()
            let all = new.objects(Later.Truck.self).sorted(by: \.price)
            _ = try await all.synced()
            #expect(try all.fetch().map(\.price) == [3, 4.5, 5])
            let unreadable = old.objects(OldTruck.self).where { $0.vin == "C" }
            _ = try await old.records("Truck WHERE vin == 'C'").synced()
            let error = #expect(throws: ModelError.self) { try unreadable.first() }
            #expect(error?.code == .typeMismatch && error?.property == "name")
            #expect(error?.message.hasPrefix("Truck.name is null in one object") == true, "\(error?.message ?? "")")
        }

        @Test func whatStandsForNullIsNotWrittenBack() async throws {
            let new = try await server.open([Later.NotedTruck.self])
            try await new.write { transaction in
                try transaction.insert(Later.NotedTruck(number: "B", name: "b", note: nil, amount: nil))
                try transaction.insert(Later.NotedTruck(number: "C", name: "c", note: nil, amount: nil))
            }
            try await new.uploaded()
            try await reopenOld()
            let trucks = old.objects(OldTruck.self).sorted(by: \.vin)
            _ = try await trucks.synced()
            var truck = try #require(try old.object(OldTruck.self, key: "B"))
            #expect(truck.note == "none" && truck.cost == 1)
            #expect(!truck.isPresent(\.note) && !truck.isPresent(\.cost) && truck.isPresent(\.name))
            truck.name = "bb"
            var other = try #require(try old.object(OldTruck.self, key: "C"))
            other.note = "seen"
            try await old.write { [truck, other] transaction in
                try transaction.upsert(truck)
                try transaction.upsert(other)
                try transaction.update(truck) { $0.name += "b" }
            }
            try await old.uploaded()
            _ = try await new.objects(Later.NotedTruck.self).synced()
            let written = try #require(try new.object(Later.NotedTruck.self, key: "B"))
            #expect(written.name == "bbb" && written.note == nil && written.amount == nil)
            let seen = try #require(try new.object(Later.NotedTruck.self, key: "C"))
            #expect(seen.name == "c" && seen.note == "seen" && seen.amount == nil)
        }

        @Test func aWriteThatTheWiderTypeCannotHoldIsRefusedAtTheWrite() async throws {
            let new = try await server.open([Later.Truck.self])
            try await new.connected()
            try await reopenOld()
            _ = try await old.objects(OldTruck.self).synced()
            let error = await #expect(throws: ModelError.self) {
                try await old.write { try $0.insert(OldTruck(vin: "D", name: "d", cost: 1 << 53 + 1)) }
            }
            #expect(
                error?.message.hasPrefix("Truck.price: the store has it as double") == true, "\(error?.message ?? "")")
        }

        @Test func pendingWritesOfBothVersionsOfAProgramAddUp() async throws {
            let path = FileManager.default.temporaryDirectory.path + "/sluice-evolution-\(UUID().uuidString)"
            defer { for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: path + suffix) } }
            let first = try await server.open([OldTruck.self], path: path)
            _ = try await first.objects(OldTruck.self).synced()
            await server.stop()
            try await first.write { transaction in
                guard let truck = try transaction.object(OldTruck.self, key: "A") else { return }
                try transaction.update(truck) { $0.cost = 7 }
                try transaction.increment(truck, \.cost, by: 1)
                try transaction.insert(OldTruck(vin: "B", name: "b", cost: 2))
            }
            await first.close()
            let second = try await server.open([Later.Truck.self], path: path)
            try await second.write { transaction in
                for key in ["A", "B"] {
                    guard let truck = try transaction.object(Later.Truck.self, key: key) else { continue }
                    try transaction.increment(truck, \.price, by: 0.5)
                }
            }
            #expect(try second.objects(Later.Truck.self).sorted(by: \.number).fetch().map(\.price) == [8.5, 2.5])
            // The image of the server comes with writes pending on it.
            try await old.write { try $0.update(OldTruck(vin: "A", name: "a")) { $0.name = "aa" } }
            try server.start()
            try await second.connected()
            try await second.uploaded()
            try await reopenOld()
            try await old.uploaded()
            for store in [second, try await server.open([Later.Truck.self])] {
                let trucks = store.objects(Later.Truck.self).sorted(by: \.number)
                _ = try await trucks.synced()
                #expect(try trucks.fetch().map(\.price) == [8.5, 2.5])
            }
            await second.close()
        }

        @Test func aQueryThatFindsOthersInTheNewTypeIsJudgedAnew() async throws {
            try await old.write { try $0.insert(OldTruck(vin: "B", name: "b", cost: 2)) }
            let recorder = try EventRecorder(old.records("Truck WHERE cost / 2 == 1"))
            try await recorder.complete()
            #expect(try old.records("Truck WHERE cost / 2 == 1").count() == 2)
            try await old.uploaded()
            let new = try await server.open([Later.Truck.self])
            try await new.connected()
            try await reopenOld()
            // No object has changed since; 3 / 2 is 1 with integers alone.
            let event = try await recorder.event { $0.results.count == 1 }
            #expect(event.results.first?["vin"] == .string("B"))
        }
    }
#endif
