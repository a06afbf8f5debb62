import Foundation
import Sluice
import Testing

enum Status: String, PropertyElement, Codable { case scheduled, departed, cancelled }

@Model struct Airport: Codable, Hashable {
    @PrimaryKey var code: String
    var city: String?
    @Inverse(\Departure.origin) nonisolated var departures: Backlinks<Departure>
}

@Model struct Departure: Hashable {
    @PrimaryKey let number: Int
    var status: Status = .scheduled
    var history: [Status] = []
    var delay: Int?
    var origin: Link<Airport>?
    @Ignored var isSelected = false
    var label: String { "\(number)" }
}

@Model struct Remark: Codable, Equatable {
    var text = ""
    var weight = 1.0
}

struct Gate: KeyPathModel, Hashable {
    var name = ""
    var objectMetadata = ObjectMetadata()

    nonisolated static let modelDefinition = ModelDefinition(Gate.self) { model in model.property("name", \.name) }
}

/// Models in a module whose default isolation is the main actor, beside the conformances that the compiler writes.
@Suite struct MainActorModelTests {
    let store: Store

    init() async throws {
        let models: [any Model.Type] = [Airport.self, Departure.self, Remark.self, Gate.self]
        store = try await Store.open(StoreConfiguration(models: models))
        try await store.write { transaction in
            try transaction.insert(Airport(code: "JFK", city: "New York"))
            try transaction.insert(
                Departure(number: 1, status: .departed, history: [.scheduled], delay: 7, origin: Link(key: "JFK")))
            try transaction.insert(Remark(text: "late"))
            try transaction.insert(Gate())
        }
    }

    @Test func aModelOfTheMainActorIsStoredReadAndQueried() throws {
        let late = store.objects(Departure.self).where {
            $0.delay + 3 > 9 && $0.status == .departed && $0.origin.city != nil
        }
        #expect(try late.fetch().map(\.label) == ["1"])
        #expect(try store.objects(Airport.self).where { $0.departures.count > 0 }.first()?.departures.count() == 1)
        #expect(try store.objects(Gate.self).count() == 1)
    }

    @Test func aKeyedModelIsEncodedByItsPropertiesAlone() throws {
        let airport = try #require(try store.object(Airport.self, key: "JFK"))
        let data = try JSONEncoder().encode(airport)
        let members = try #require(try JSONSerialization.jsonObject(with: data) as? [String: String])
        #expect(members == ["code": "JFK", "city": "New York"])
        #expect(try JSONDecoder().decode(Airport.self, from: data) == airport)
        #expect(Airport(code: "JFK", city: "New York").hashValue == airport.hashValue)
    }

    @Test func aKeylessModelKeepsItsIDAndGetsOneWhereThereIsNone() throws {
        let remark = try #require(try store.objects(Remark.self).first())
        let decoded = try JSONDecoder().decode(Remark.self, from: JSONEncoder().encode(remark))
        #expect(decoded == remark)
        #expect(decoded.objectID == remark.objectID)
        let foreign = Data(#"{"text": "late", "weight": 1}"#.utf8)
        let first = try JSONDecoder().decode(Remark.self, from: foreign)
        #expect(try first != JSONDecoder().decode(Remark.self, from: foreign))
        #expect(first != Remark(text: "late"))
    }

    @Test func whatAQueryExcludedDoesNotCountWhenValuesAreCompared() throws {
        let whole = try #require(try store.object(Departure.self, key: 1))
        var changed = whole
        changed.delay = nil
        #expect(changed != whole)
        changed.delay = whole.delay
        #expect(changed == whole)
    }
}
