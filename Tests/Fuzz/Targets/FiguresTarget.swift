import SluiceExchange
import SluiceJSON
import SluiceModel
import SluiceQuery
import SluiceServer
import SluiceWire

/// Figures that a server sends, and a change of them, as a client takes them. The first byte chooses the query. What is
/// taken can be added to and taken from, and is the same once it is written down and read again. As rows of the JSON form
/// it has the order of the query.
enum FiguresTarget {
    private static let queries: [Query] = {
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
            ].map { try Query.parse($0, className: "Car", schema: schema) }
        } catch {
            preconditionFailure("\(error)")
        }
    }()

    static func run(_ bytes: [UInt8]) {
        guard let choice = bytes.first, let (figures, change) = lists(Array(bytes.dropFirst())) else { return }
        let query = queries[Int(choice) % queries.count]
        guard let aggregates = query.aggregates else { preconditionFailure("\(query) computes nothing") }
        writeRows(change, of: query)
        guard let groups = aggregates.groups(figures) else { return }
        let values = aggregates.values(of: groups)
        guard let again = aggregates.groups(values) else { preconditionFailure("\(groups) are not taken again") }
        precondition(
            aggregates.values(of: again) == values && again.map(aggregates.columns) == groups.map(aggregates.columns),
            "\(groups) became \(again)")
        if var known = KnownGroups(aggregates, values) {
            let before = known.values
            if known.apply(change) {
                guard let whole = KnownGroups(aggregates, known.values) else {
                    preconditionFailure("\(known.values) are not taken again")
                }
                precondition(
                    known.groups.map(aggregates.columns) == whole.groups.map(aggregates.columns),
                    "\(known.groups) stand as \(whole.groups)")
            } else {
                precondition(known.values == before, "\(before) became \(known.values) by what was refused")
            }
        }
        var table = FigureTable(aggregates, knowing: groups)
        for group in groups {
            let row = group.keys + Array(repeating: Value.int(3), count: 8)
            try? table.add(row)
            table.remove(row)
        }
        table.settle()
        _ = aggregates.shown(table.shown).map(aggregates.columns)
        guard Set(groups.map(\.keys)).count == groups.count, let rows = writeRows(values, of: query) else { return }
        let ordered = rows.sorted { ($0["@sort"]?.string ?? "") < ($1["@sort"]?.string ?? "") }.map { $0["@key"] }
        let right = groups.map { ($0.keys, aggregates.columns(of: $0)) }.sorted { aggregates.compare($0.1, $1.1) < 0 }
        precondition(ordered == right.map { key($0.0) }, "\(groups) stand elsewhere as rows")
    }

    /// What a page is told of figures; nil if they are none.
    @discardableResult private static func writeRows(_ values: [Value], of query: Query) -> [JSONValue]? {
        guard let figures = JSONFigures(values, of: query) else { return nil }
        var writer = JSONWriter()
        writer.array([true, false]) { writer, isOfRows in
            if isOfRows { figures.write(rowsTo: &writer) } else { figures.write(departuresTo: &writer) }
        }
        guard let parts = try? JSONParser.parse(String(decoding: writer.bytes, as: UTF8.self)).array else {
            preconditionFailure("\(values) became no JSON")
        }
        return parts[0].array
    }

    private static func key(_ keys: [Value]) -> JSONValue? {
        var writer = JSONWriter()
        writer.array(keys) { $0.write($1) }
        return try? JSONParser.parse(String(decoding: writer.bytes, as: UTF8.self))
    }

    /// Two lists of values.
    private static func lists(_ bytes: [UInt8]) -> ([Value], [Value])? {
        guard case .list(let parts)? = try? Value(wireBytes: bytes, limits: MessageTarget.limits), parts.count == 2,
            case .list(let figures) = parts[0], case .list(let change) = parts[1]
        else { return nil }
        return (figures, change)
    }
}
