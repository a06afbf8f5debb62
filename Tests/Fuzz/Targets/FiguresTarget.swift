import SluiceModel
import SluiceQuery
import SluiceWire

/// Figures that a server sends, and a change of them, as a client takes them. The first byte chooses the query. What is
/// taken can be added to and taken from, and is the same once it is written down and read again.
enum FiguresTarget {
    private static let queries: [Query.Aggregates] = {
        do {
            let schema = try Schema([
                ClassSchema(
                    "Car", primaryKey: "vin",
                    properties: [
                        Property("vin", .scalar(.string)), Property("name", .scalar(.string, isOptional: true)),
                        Property("price", .scalar(.double)), Property("year", .scalar(.int, isOptional: true)),
                        Property("cost", .scalar(.decimal)), Property("bought", .scalar(.date)),
                        Property("dealer", .link("Car")),
                    ])
            ])
            return try [
                "AGGREGATE(@count, @sum.price, @avg.price, @min.price, @max.bought)",
                "AGGREGATE(@sum.year, @avg.year, @max.year, @sum.cost, @avg.cost, @min.cost)",
                "GROUP(name) AGGREGATE(@count, @sum.year)",
                "GROUP(dealer, year) AGGREGATE(@avg.price, @max.cost) SORT(@avg.price DESC) LIMIT(3)",
            ].compactMap { try Query.parse($0, className: "Car", schema: schema).aggregates }
        } catch {
            preconditionFailure("\(error)")
        }
    }()

    static func run(_ bytes: [UInt8]) {
        guard let choice = bytes.first, let (figures, change) = lists(Array(bytes.dropFirst())) else { return }
        let aggregates = queries[Int(choice) % queries.count]
        guard let groups = aggregates.groups(figures) else { return }
        let values = aggregates.values(of: groups)
        guard let again = aggregates.groups(values) else { preconditionFailure("\(groups) are not taken again") }
        precondition(
            aggregates.values(of: again) == values && again.map(aggregates.columns) == groups.map(aggregates.columns),
            "\(groups) became \(again)")
        if let changed = aggregates.values(values, changedBy: change) {
            precondition(aggregates.groups(changed) != nil, "\(changed) are not taken again")
        }
        var table = FigureTable(aggregates, knowing: groups)
        for group in groups {
            let row = group.keys + Array(repeating: Value.int(3), count: 8)
            try? table.add(row)
            table.remove(row)
        }
        table.settle()
        _ = aggregates.shown(table.shown).map(aggregates.columns)
    }

    /// Two lists of values.
    private static func lists(_ bytes: [UInt8]) -> ([Value], [Value])? {
        guard case .list(let parts)? = try? Value(wireBytes: bytes, limits: MessageTarget.limits), parts.count == 2,
            case .list(let figures) = parts[0], case .list(let change) = parts[1]
        else { return nil }
        return (figures, change)
    }
}
