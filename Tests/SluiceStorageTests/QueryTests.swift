import SluiceModel
import SluiceQuery
import SluiceStorage
import SluiceViews
import TestSupport
import Testing

@Suite(.ownThread) struct QueryTests {
    private static let texts = [
        "TRUEPREDICATE", "price > 3", "price BETWEEN {2, 6}", "owner.name == 'n1'", "owner == NULL",
        "former.@count > 1",
        "ANY former.name BEGINSWITH 'n'", "vin LIKE 'c?'", "vin CONTAINS[c] 'C1'", "owner.car.price < 5",
    ]
    private static let orders = [
        "", "SORT(price ASC)", "SORT(price DESC)", "SORT(owner.name DESC, vin ASC)", "SORT(vin ASC)",
    ]

    private func storage(seed: UInt64) throws -> (SQLiteClientStorage, [Row]) {
        var random = SeededGenerator(seed: seed)
        let storage = try Garage.client()
        var rows: [Row] = []
        try storage.write {
            for number in 0..<40 {
                let former = (0..<Int.random(in: 0...3, using: &random)).map { _ in
                    Garage.ownerKey(.random(in: 0..<9, using: &random))
                }
                let owner = Bool.random(using: &random) ? Garage.ownerKey(.random(in: 0..<9, using: &random)) : nil
                let row = Garage.car(
                    "c\(number)", price: .random(in: 0...9, using: &random), owner: owner, former: former)
                rows.append(row)
                try storage.insert(row, ofClass: Garage.car)
            }
            for number in 0..<6 as Range<UInt64> {
                let row = Garage.owner(
                    number, name: "n\(number % 3)", car: "c\(Int.random(in: 0..<50, using: &random))")
                try storage.insert(row, ofClass: Garage.owner)
            }
        }
        return (storage, rows)
    }

    /// The results by evaluator and comparator, without limit.
    private func oracle(_ query: Query, _ rows: [Row], _ storage: SQLiteClientStorage) throws -> [(
        row: Row, position: SortPosition
    )] {
        let evaluator = Evaluator(query, schema: storage.schema)
        let order = SortOrder(query.sort)
        var results: [(row: Row, position: SortPosition)] = []
        for row in rows where try evaluator.matches(row, in: storage) {
            let id = Identity(className: "Car", key: row.key).objectID
            results.append((row, SortPosition(values: try evaluator.sortValues(of: row, in: storage), id: id)))
        }
        return results.sorted { order.precedes($0.position.values, $0.position.id, $1.position.values, $1.position.id) }
    }

    /// A rule's list may be longer than SQLite has parameters. It is of keys, of object ids, or of scalars.
    @Test(arguments: ["vin", "owner", "owner.name", "price", "ANY former", "former"])
    func aListLongerThanSQLiteHasParametersIsSearched(path: String) throws {
        let (storage, rows) = try storage(seed: 5)
        let count = 40_000
        let values: [Value] =
            switch path {
            case "vin": ["c3", "c5", "it's", "a\0b"].map { .string($0) } + (0..<count).map { .string("x\($0)") }
            case "owner.name": ["n1", "n'2"].map { .string($0) } + (0..<count).map { .string("x\($0)") }
            case "price": [.int(3), .int(.min), .int(.max)] + (0..<count).map { .int(Int64($0) + 100) }
            default: (1..<count).map { .link(Garage.ownerKey(UInt64($0 < 4 ? $0 : $0 + 100))) }
            }
        for condition in ["\(path) IN $0", "NOT \(path) IN $0"] {
            let syntax = try QuerySyntax.parse("Car WHERE \(condition)", arguments: [.list([])])
            let long = syntax.replacingEmptyList(by: values)
            let query = try Query(long, schema: storage.schema, isLimited: false)
            let expected = Set(try oracle(query, rows, storage).map { ObjectRef(Garage.car, $0.row.key) })
            #expect(try Set(storage.refs(matching: query)) == expected)
            #expect(!expected.isEmpty && expected.count < rows.count, "\(condition)")
        }
    }

    @Test(arguments: texts, orders)
    func queriesGiveWhatTheEvaluatorGives(text: String, order: String) throws {
        let (storage, rows) = try storage(seed: 3)
        let query = try Query.parse("\(text) \(order) LIMIT(7)", className: "Car", schema: storage.schema)
        let expected = try oracle(query, rows, storage)
        let limited = expected.prefix(7).map { ObjectRef(Garage.car, $0.row.key) }
        #expect(try storage.refs(matching: query) == limited)
        #expect(try storage.count(matching: query) == limited.count)
        #expect(try storage.read { try $0.refs(matching: query) } == limited)
        var all: [Row] = []
        try storage.forEachRow(matching: query) { row in
            all.append(row)
            return true
        }
        #expect(Set(all) == Set(expected.map(\.row)))
        for (rowCountMax, byteCountMax) in [(6, .max), (.max, 1)] as [(Int, Int)] {
            var paged: [Row] = []
            var cursor: RowCursor?
            repeat {
                let page = try storage.rows(
                    matching: query, after: cursor, limit: rowCountMax, byteCountMax: byteCountMax)
                #expect(page.rows.count <= (byteCountMax == 1 ? 1 : rowCountMax))
                paged += page.rows
                cursor = page.next
            } while cursor != nil
            #expect(paged == rows.filter { all.contains($0) })
        }
        // All that match have a place in the order, whatever keeps some of them from being results.
        for clauses in ["LIMIT(7)", "TOTAL", "DISTINCT(price)", "LIMIT(3) DISTINCT(owner.name) LIMIT(2)"] {
            let query = try Query.parse("\(text) \(order) \(clauses)", className: "Car", schema: storage.schema)
            for start in [nil, 0, 3, 15] as [Int?] where start ?? 0 < expected.count {
                var ordered: [Row] = []
                try storage.rows(matching: query, after: start.map { expected[$0].position }, limit: 9) { row in
                    ordered.append(row)
                    return true
                }
                let rest = expected.dropFirst(start.map { $0 + 1 } ?? 0)
                #expect(ordered == rest.prefix(9).map(\.row), "\(clauses) after \(start ?? -1)")
            }
        }
    }

    @Test func queryOfOneObjectFindsItInAnyClass() throws {
        let (storage, rows) = try storage(seed: 1)
        let id = Identity(className: "Car", key: rows[5].key).objectID
        let query = try Query.parse("OBJECT(\(id))", schema: storage.schema)
        #expect(try storage.refs(matching: query) == [ObjectRef(Garage.car, rows[5].key)])
        #expect(try storage.read { try $0.count(matching: query) } == 1)
        let page = try storage.rows(matching: query, after: nil, limit: 1, byteCountMax: .max)
        #expect(page.rows == [rows[5]])
        #expect(page.next == nil)
        let missing = try Query.parse("OBJECT(\(ObjectID(high: 1, low: 1)))", schema: storage.schema)
        #expect(try storage.count(matching: missing) == 0)
    }
}

extension QuerySyntax {
    /// The query with a list in place of the empty one.
    fileprivate func replacingEmptyList(by values: [Value]) -> QuerySyntax {
        func replaced(_ predicate: PredicateSyntax) -> PredicateSyntax {
            switch predicate {
            case .not(let operand): return .not(replaced(operand))
            case .comparison(var comparison):
                comparison.right = .values(values)
                return .comparison(comparison)
            default: return predicate
            }
        }
        var query = self
        query.predicate = replaced(predicate)
        return query
    }
}
