import Sluice
import SluiceTesting
import Testing

#if SLUICE_MACROS
    /// Events name the commits that they consist of: who made them, and what was done.
    @Suite(.timeLimit(.minutes(10))) struct CommitDescriptorTests {
        private let server: TestServer
        private let alice: Store
        private let bob: Store

        init() async throws {
            server = try TestServer()
            alice = try await server.open()
            bob = try await server.open()
            try await alice.upload(vins: "a", "b")
        }

        private func setPrice(_ price: Double, of vin: String, in store: Store) async throws {
            try await store.write { tx in
                try tx.update(try #require(try tx.object(Vehicle.self, key: vin))) { $0.price = price }
            }
        }

        @Test func oneOwnCommitIsNoAuthorOfWhatOthersDo() async throws {
            let recorder = try EventRecorder(bob.objects(Vehicle.self))
            try await recorder.complete()
            _ = try await alice.objects(Vehicle.self).synced()
            server.hold(bob)
            try await setPrice(7, of: "a", in: bob)
            try await server.settled()
            try await setPrice(8, of: "b", in: alice)
            try await alice.uploaded()
            try await server.settled()
            server.release(bob)
            let event = try await recorder.event { $0.remote != nil && !$0.modifications.isEmpty }
            #expect(event.remote?.authors.count == 1 && event.remote?.operations == [.set])
        }

        @Test func aCatchUpNamesWhatWasDone() async throws {
            let recorder = try EventRecorder(bob.objects(Vehicle.self))
            try await recorder.complete()
            server.cut(bob)
            try await setPrice(7, of: "a", in: alice)
            try await alice.uploaded()
            server.restore(bob)
            let set = try await recorder.event { !$0.modifications.isEmpty }
            #expect(set.remote?.operations == [.set] && set.remote?.userID == nil)
            server.cut(bob)
            try await alice.write { tx in
                try tx.delete(Vehicle.self, key: "a")
                try tx.insert(Vehicle(vin: "c", plate: "P"))
            }
            try await alice.uploaded()
            server.restore(bob)
            let both = try await recorder.event { !$0.deletions.isEmpty }
            #expect(both.remote?.operations == [.create, .delete])
        }

        /// The objects are new here, and were there before: only the server can tell.
        @Test func aCatchUpSaysThatWhatEntersAQueryWasSet() async throws {
            let dear = bob.objects(Vehicle.self).where { $0.price > 5 }
            let recorder = try EventRecorder(dear)
            try await recorder.complete()
            server.cut(bob)
            try await setPrice(7, of: "a", in: alice)
            try await server.advance(by: .seconds(1))
            try await alice.write { try $0.upsert(Vehicle(vin: "b", price: 9, plate: "Q")) }
            try await alice.uploaded()
            server.restore(bob)
            let entered = try await recorder.event { $0.insertions.count == 2 }
            #expect(entered.remote?.operations == [.set] && entered.remote?.userID == nil)
            server.cut(bob)
            try await setPrice(1, of: "a", in: alice)
            try await alice.uploaded()
            server.restore(bob)
            let left = try await recorder.event { $0.deletions.count == 1 }
            #expect(left.remote?.operations == [.set] && left.removals.map(\.reason) == [.filter])
        }

        @Test func aBootstrapOfWhatIsHereSetsIt() async throws {
            let cheap = try EventRecorder(bob.objects(Vehicle.self).where { $0.price < 5 })
            try await cheap.complete()
            cheap.token.stop(purgeLocal: false)
            try await server.settled()
            try await setPrice(4, of: "a", in: alice)
            try await alice.uploaded()
            let all = try EventRecorder(bob.objects(Vehicle.self))
            let changed = try await all.event { !$0.modifications.isEmpty }
            #expect(changed.remote?.operations == [.set])
        }

        /// Who does not have an object cannot know that an upsert will meet it; the server can.
        @Test func anUpsertThatMeetsAnObjectHasSetIt() async throws {
            let recorder = try EventRecorder(alice.objects(Vehicle.self))
            try await recorder.complete()
            // Of two writes at one moment any may be the later one.
            try await server.advance(by: .seconds(1))
            try await bob.write { try $0.upsert(Vehicle(vin: "a", price: 9, plate: "Q")) }
            let met = try await recorder.event { !$0.modifications.isEmpty }
            #expect(met.remote?.operations == [.set])
            try await bob.write { tx in
                try tx.upsert(Vehicle(vin: "b", price: 9, plate: "Q"))
                try tx.upsert(Vehicle(vin: "new", price: 9, plate: "Q"))
            }
            let mixed = try await recorder.event { !$0.insertions.isEmpty && !$0.isInitial }
            #expect(mixed.remote?.operations == [.create, .set])
        }
    }
#endif
