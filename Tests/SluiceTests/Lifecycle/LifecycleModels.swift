import Sluice
import SluiceTesting
import Testing

#if SLUICE_MACROS
    @Model struct Vehicle {
        @PrimaryKey var vin: String
        var name = "Toyota"
        var price = 0.0
        var views = 0
        var plate: String
        var owners: Links<Person> = []
        var garage: Link<Garage>?
    }

    @Model struct Person {
        @PrimaryKey var name: String
        var age = 0
        var friends: Links<Person> = []
        @Inverse(\Vehicle.owners) var vehicles: Backlinks<Vehicle>
    }

    @Model struct Garage {
        @PrimaryKey var code: String
        var city = ""
    }

    @Model struct Memo {
        var text = ""
    }

    let lifecycleModels: [any Model.Type] = [Vehicle.self, Person.self, Garage.self, Memo.self]

    extension TestServer {
        func open() async throws -> Store { try await open(lifecycleModels) }
    }

    extension Store {
        /// Writes objects and waits until the server has them.
        func upload(_ objects: [any Model]) async throws {
            let objects = objects
            try await write { tx in
                for object in objects { try tx.upsert(object) }
            }
            try await uploaded(timeout: nil)
        }

        func upload(vins: String..., price: Double = 1) async throws {
            try await upload(vins.map { Vehicle(vin: $0, price: price, plate: "P-\($0)") })
        }
    }

    extension Change where Element == Vehicle {
        var vins: [String] { results.map(\.vin) }

        var views: [Int] { results.map(\.views) }
    }
#endif
