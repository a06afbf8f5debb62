import Sluice
import SluiceModel
import SluiceTesting
import Testing

#if SLUICE_MACROS
    /// Typed values whose links are followed after the classes have grown.
    @Suite(.timeLimit(.minutes(10))) struct HeldModelsWhileTheSchemaChangesTests {
        @Test func heldModelsAndTheirLinksGoOn() async throws {
            let server = try TestServer()
            let alice = try await server.open()
            let bob = try await server.open()
            let garage = Garage(code: "g", city: "Rome")
            try await alice.upload([
                Person(name: "p"), garage,
                Vehicle(
                    vin: "a", price: 2, plate: "P", owners: Links([Person(name: "p")] as [Person]), garage: Link(garage)
                ),
            ])
            let recorder = try EventRecorder(bob.objects(Vehicle.self))
            let held = try await recorder.complete()
            func said(_ vehicle: Vehicle) -> String { "\(vehicle)" }
            let vehicle = held.results[0]
            let person = try #require(try vehicle.owners.fetchAll().first)
            let more = try ["Vehicle", "Person", "Garage"].map { name in
                let declared = try #require(bob.schema.classSchema(named: name))
                return try ClassSchema(
                    name, primaryKey: declared.primaryKey,
                    properties: declared.properties + [Property("later", .scalar(.int))])
            }
            try await alice.declare(more)
            try await alice.write { transaction in
                for (name, key) in [("Garage", "g"), ("Person", "p"), ("Vehicle", "a")] {
                    try transaction.update(Identity(className: name, key: .string(key)), set: ["later": .int(1)])
                }
            }
            try await alice.uploaded()
            try await recorder.event { !$0.modifications.isEmpty }
            #expect(
                [held.results[0]].map(said) == [said(vehicle)]
                    && held.results.map(said) == [said(vehicle)])
            #expect(try vehicle.garage?.fetch()?.city == "Rome")
            #expect(try vehicle.owners.fetchAll().map(\.name) == ["p"])
            #expect(try person.vehicles.fetchAll().map(\.vin) == ["a"])
            let now = try #require(try bob.object(Vehicle.self, key: "a"))
            #expect(said(now) == said(vehicle))
        }
    }
#endif
