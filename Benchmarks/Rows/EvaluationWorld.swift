import SluiceModel
import SluiceQuery

/// Holds in memory the cars and dealers that E1 queries, so that reading them allocates nothing.
final class EvaluationWorld: ObjectSource {
    let schema: Schema
    /// The cars, by number.
    let cars: [SluiceModel.Row]
    private var rows: [ObjectRef: SluiceModel.Row] = [:]
    /// The dealers that recommend a car.
    private var recommenders: [ObjectKey: [ObjectKey]] = [:]

    init() throws {
        schema = try Schema([
            ClassSchema(
                "Car",
                properties: [
                    Property("name", .scalar(.string)), Property("price", .scalar(.double)),
                    Property("year", .scalar(.int)), Property("dealer", .link("Dealer")),
                    Property("offers", PropertyType(.scalar(.double), container: .list)),
                    Property("sizes", PropertyType(.scalar(.int), container: .map)),
                    Property("bidders", .links("Dealer")),
                ]),
            ClassSchema(
                "Dealer", primaryKey: "code",
                properties: [
                    Property("code", .scalar(.int)), Property("city", .scalar(.string)),
                    Property("recommended", .links("Car")),
                ]),
        ])
        let names = ["Toyota", "Kia", "Volkswagen Golf Variant", "Renault"]
        cars = (0..<1_000).map { number in
            let dealers = (0..<number % 5).map { Value.link(.int(Int64((number + $0) % 40))) }
            return SluiceModel.Row(
                key: .id(ObjectID(high: 1, low: UInt64(number))),
                values: [
                    .string(names[number % names.count]), .double(Double(number * 37 % 20_000)),
                    .int(Int64(1990 + number % 30)), .link(.int(Int64(number % 40))),
                    .list((0..<8).map { .double(Double(number * 37 % 20_000) - Double($0) * 100.5) }),
                    .map(ValueMap([("length", .int(Int64(380 + number % 100))), ("width", .int(180))])),
                    .list(dealers),
                ])
        }
        for number in 0..<40 {
            let key = ObjectKey.int(Int64(number))
            let recommended = cars.indices.filter { $0 % 40 < number }.map { cars[$0].key }
            rows[ObjectRef(1, key)] = SluiceModel.Row(
                key: key,
                values: [
                    .int(Int64(number)), .string(number % 4 == 0 ? "Ulm" : "Neustadt an der Weinstraße"),
                    .list(recommended.map { .link($0) }),
                ])
            for car in recommended { recommenders[car, default: []].append(key) }
        }
    }

    var now: Timestamp { Timestamp(microseconds: 0) }

    func row(_ object: ObjectRef) throws -> SluiceModel.Row? { rows[object] }

    func isPresent(_ object: ObjectRef) throws -> Bool { rows[object] != nil }

    func backlinks(
        to object: ObjectRef, fromClass classIndex: Int, property: Int, _ body: (ObjectKey) throws -> Bool
    ) throws {
        guard let keys = recommenders[object.key] else { return }
        for key in keys where try !body(key) { return }
    }
}
