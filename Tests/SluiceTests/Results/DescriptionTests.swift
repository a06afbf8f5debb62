import Foundation
import Sluice
import SluiceModel
import SluiceTesting
import Testing

#if SLUICE_MACROS
    /// The output of `print`: one or a few readable lines without secrets.
    @Suite(.timeLimit(.minutes(10))) struct DescriptionTests {
        let server: TestServer
        let store: Store

        init() async throws {
            server = try TestServer()
            store = try await server.open([Vehicle.self, Person.self, Garage.self, Memo.self])
            try await store.upload(vins: "a", "b")
        }

        @Test func aChangeSaysWhereItCameFromAndWhatItDid() async throws {
            let recorder = try EventRecorder(store.objects(Vehicle.self).sorted(by: \.vin))
            try await recorder.complete()
            try await store.upload(vins: "c")
            let change = try await recorder.event { !$0.isInitial && !$0.insertions.isEmpty }
            #expect("\(change)" == "local: 3 objects, 1 inserted at 2; complete")
        }

        @Test func eachKindOfEventReadsAsALine() async throws {
            server.cut(store)
            let recorder = try EventRecorder(store.objects(Vehicle.self).where { $0.price < 5 }.sorted(by: \.vin))
            try await server.settled()
            #expect(
                recorder.events.map(String.init(describing:)) == ["initial: 2 objects, 2 inserted at 0, 1; pending"])
            server.restore(store)
            try await server.settled()
            #expect(recorder.events.last.map { "\($0)" } == "status: 2 objects; complete")
            try await store.write { tx in
                for vin in ["c", "d", "e", "f", "g", "h"] { try tx.insert(Vehicle(vin: vin, price: 1, plate: "P")) }
                try tx.update(Vehicle(vin: "a", plate: "")) { $0.price = 9 }
            }
            try await server.settled()
            #expect(
                recorder.events.last.map { "\($0)" }
                    == "local: 7 objects, 1 deleted at 0 (filter), 6 inserted at 1, 2, 3, 4, 5, …; complete")
            let other = try await server.open()
            try await other.write { tx in
                try tx.delete(Vehicle.self, key: "b")
                try tx.insert(Vehicle(vin: "z", price: 1, plate: "P"))
            }
            try await server.settled()
            #expect(
                recorder.events.last.map { "\($0)" }
                    == "remote (create, delete): 7 objects, 1 deleted at 0 (deleted), 1 inserted at 6; complete")
        }

        @Test func aSessionSaysWhatItDoesAndWhy() async throws {
            try await server.settled()
            #expect(store.session.map { "\($0)" } == "StoreSession(idle)")
            try store.session?.pause()
            #expect(store.session.map { "\($0)" } == "StoreSession(paused)")
            try store.session?.resume()
            try await store.connected()
            server.expireLogin(of: store)
            try await server.settled()
            #expect(
                store.session.map { "\($0)" } == "StoreSession(needs credentials: the login of the session is over)")
        }

        @Test func nothingPrintedGrowsWithTheData() async throws {
            let vins = (0..<2_000).map { "vin-\($0)" }
            let wide = store.objects(Vehicle.self).where { $0.vin.in(vins) }
            #expect("\(wide)".count < 350 && "\(wide)".hasSuffix(" more characters))"))
            try await store.write { try $0.insert(Memo(text: String(repeating: "long ", count: 5_000))) }
            #expect(try "\(store.objects(Memo.self).snapshot())".count < 400)
            try await store.write { tx in
                for number in 0..<200 { try tx.insert(Vehicle(vin: "n\(number)", plate: "P")) }
            }
            let snapshot = try "\(store.objects(Vehicle.self).snapshot())"
            #expect(snapshot.split(separator: "\n").count == 12 && snapshot.hasSuffix("\n  … 192 more"))
            try await store.declare((0..<50).map { try ClassSchema("Extra\($0)", properties: []) })
            #expect(
                "\(store)" == "Store(in memory: Vehicle, Person, Garage, Memo, Extra0, Extra1, Extra2, Extra3, Extra4, "
                    + "Extra5, … 44 more)")
        }

        @Test func resultsShowTheirQueryAndSnapshotsTheirObjects() throws {
            let results = store.objects(Vehicle.self).where { $0.price < 5 }.limit(3)
            #expect("\(results)" == "Results(Vehicle WHERE price < 5 LIMIT(3))")
            #expect("\(results.filter("colour == 1"))".contains("colour"))
            let lines = try "\(results.snapshot())".split(separator: "\n")
            #expect(lines.count == 3 && lines[0] == "2 objects")
            #expect(lines[1].contains(#"vin: "a""#) || lines[2].contains(#"vin: "a""#))
        }

        @Test func freshnessAndCountsReadWell() async throws {
            #expect("\(Freshness.confirmed)" == "confirmed" && "\(Freshness.cached(since: nil))" == "cached")
            #expect(
                "\(Freshness.cached(since: Date(timeIntervalSince1970: 0)))"
                    == "cached since \(Timestamp(microseconds: 0))")
            let token = try store.objects(Garage.self).observe { _ in }
            try await server.settled()
            #expect(try store.subscriptions().map { "\($0)" } == ["Garage: complete, 1 holder"])
            #expect(
                "\(try await store.serverStatus())"
                    == "test at version 1: [Vehicle 2, Person 0, Garage 0, Memo 0], 1 session, 1 subscription")
            #expect(try await store.serverSubscriptions().map { "\($0)" } == ["Garage: 1 subscriber"])
            token.stop()
        }

        @Test func aRecordShowsItsValuesByName() throws {
            let record = try #require(try store.records("Vehicle WHERE vin == 'a' EXCLUDE(name)").first())
            #expect("\(record)".hasPrefix(#"Vehicle(vin: "a", "#) && "\(record)".contains("owners: []"), "\(record)")
        }

        @Test func storesTokensAndRejectionsAreOneLine() async throws {
            let token = try store.objects(Vehicle.self).observe { _ in }
            #expect("\(token)" == "NotificationToken(observing)")
            token.stop()
            #expect("\(token)" == "NotificationToken(stopped)")
            #expect("\(store)" == "Store(in memory: Vehicle, Person, Garage, Memo)")
            let identity = Identity(className: "Vehicle", key: .string("a"))
            let rejection = WriteRejection(
                object: identity, reason: SyncError(.writeRejected, "not allowed"),
                rejectedValues: ["name": .string("x")])
            #expect("\(rejection)" == "rejected write of Vehicle(a): not allowed")
        }
    }
#endif
