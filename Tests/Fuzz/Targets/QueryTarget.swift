import FoundationEssentials
import SluiceModel
import SluiceQuery
import SluiceStorage
import SluiceViews
import SluiceWire

/// Parses a text as a query, prints its canonical text and parses that again, directly and through a subscribe message.
/// Then it uses the query: SQL, evaluation, filing, explanation.
enum QueryTarget {
    private static let schema: Schema = {
        do {
            return try Schema([
                ClassSchema(
                    "Car", primaryKey: "vin",
                    properties: [
                        Property("vin", .scalar(.string)), Property("name", .scalar(.string, isOptional: true)),
                        Property("price", .scalar(.double)), Property("year", .scalar(.int, isOptional: true)),
                        Property("isNew", .scalar(.bool)), Property("weight", .scalar(.float, isOptional: true)),
                        Property("bought", .scalar(.date)), Property("serial", .scalar(.uuid)),
                        Property("photo", .scalar(.data)), Property("cost", .scalar(.decimal)),
                        Property("mark", .scalar(.objectID)), Property("dealer", .link("Dealer")),
                        Property("owners", .links("Owner")), Property("garage", .link("Garage")),
                        Property("tags", PropertyType(.scalar(.string), container: .list)),
                        Property("years", PropertyType(.scalar(.int), container: .set)),
                        Property("sizes", PropertyType(.scalar(.double), container: .map)),
                        Property("any", .scalar(.int)),
                    ]),
                ClassSchema(
                    "Dealer", primaryKey: "code",
                    properties: [
                        Property("code", .scalar(.int)), Property("city", .scalar(.string, isOptional: true)),
                        Property("owner", .link("Owner")), Property("cars", .links("Car")),
                    ]),
                ClassSchema(
                    "Owner", primaryKey: "id",
                    properties: [
                        Property("id", .scalar(.uuid)), Property("name", .scalar(.string)),
                        Property("friends", .links("Owner")),
                    ]),
                ClassSchema("Garage", properties: [Property("label", .scalar(.string))]),
            ])
        } catch {
            preconditionFailure("\(error)")
        }
    }()

    static func run(_ bytes: [UInt8]) {
        guard let text = String(validating: bytes, as: UTF8.self), let query = try? Query.parse(text, schema: schema)
        else { return }
        let canonical = query.canonicalText
        let message = ClientMessage.subscribe(.init(session: 1, subscription: 2, query: canonical))
        let arrived = try? Frame.decode(Frame.encode(message), as: ClientMessage.self)
        precondition(arrived == [message], "a query does not travel: \(canonical)")
        guard let again = try? Query.parse(canonical, schema: schema) else {
            preconditionFailure("the canonical text is no query: \(canonical)")
        }
        precondition(UTF8Order.equal(again.canonicalText, canonical), "\(canonical) became \(again.canonicalText)")
        precondition(again == query && again.classIndex == query.classIndex && again.limit == query.limit)
        use(query)
    }

    private static func use(_ query: Query) {
        let explanation = QueryExplanation(query, schema: schema, plan: nil, totalPlan: nil, wantedIndexes: [])
        precondition(explanation.query == query.canonicalText)
        guard query.object == nil else { return }
        let statement = SQLCompiler(schema: schema).select(query)
        precondition(statement.text.utf8.count { $0 == UInt8(ascii: "?") } >= statement.bindings.count)
        let declared = schema[query.classIndex]
        let key: ObjectKey =
            switch declared.keyType {
            case .int: .int(1)
            case .string: .string("a")
            case .uuid: .uuid(.init(uuid: (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16)))
            default: .id(ObjectID(high: 1, low: 2))
            }
        let row = Row(key: key, values: declared.defaultValues(for: key))
        let evaluator = Evaluator(query, schema: schema)
        let matches = (try? evaluator.matches(row, in: NoObjects())) ?? false
        _ = try? evaluator.sortValues(of: row, in: NoObjects())
        // Every result must meet the condition that a view is filed under.
        guard matches else { return }
        for condition in query.rootConditions(schema: schema) {
            precondition(condition.isMet(by: row.values[condition.property]), "\(query) has \(condition)")
        }
    }
}

/// A world without objects.
private final class NoObjects: ObjectSource {
    var now: Timestamp { Timestamp(microseconds: 0) }

    func row(_ object: ObjectRef) throws -> Row? { nil }

    func isPresent(_ object: ObjectRef) throws -> Bool { false }

    func backlinks(
        to object: ObjectRef, fromClass classIndex: Int, property: Int, _ body: (ObjectKey) throws -> Bool
    ) throws {}
}

extension RootCondition {
    fileprivate func isMet(by value: Value) -> Bool {
        switch test {
        case .equal(let constant): value == constant
        case .isIn(let constants): constants.contains(value)
        case .range(let range): range.contains(value)
        case .prefix(let part): value.bytes.starts(with: part.bytes)
        case .suffix(let part): value.bytes.reversed().starts(with: part.bytes.reversed())
        case .part(let part): value.bytes.indices.contains { value.bytes[$0...].starts(with: part.bytes) }
        }
    }
}

extension Value {
    /// The bytes of text or data.
    fileprivate var bytes: [UInt8] {
        switch self {
        case .string(let text): Array(text.utf8)
        case .data(let bytes): bytes
        default: []
        }
    }
}
