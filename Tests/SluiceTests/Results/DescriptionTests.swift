import Sluice
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

        @Test func resultsShowTheirQueryAndSnapshotsTheirObjects() throws {
            let results = store.objects(Vehicle.self).where { $0.price < 5 }.limit(3)
            #expect("\(results)" == "Results(Vehicle WHERE price < 5 LIMIT(3))")
            #expect("\(results.filter("colour == 1"))".contains("colour"))
            let lines = try "\(results.snapshot())".split(separator: "\n")
            #expect(lines.count == 3 && lines[0] == "2 objects")
            #expect(lines[1].contains(#"vin: "a""#) || lines[2].contains(#"vin: "a""#))
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
