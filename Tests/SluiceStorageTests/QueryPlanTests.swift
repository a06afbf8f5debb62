import FoundationEssentials
import SluiceModel
import SluiceQuery
import SluiceStorage
import SluiceViews
import Testing

/// How SQLite runs compiled queries: it scans no table and sorts nothing if an index can avoid that.
struct QueryPlanTests {
    private static func storage() throws -> SQLiteServerStorage {
        let storage = try SQLiteServerStorage.open(.memory, databaseID: ObjectID(high: 1, low: 2))
        let schema = try Schema([
            ClassSchema(
                "Car", primaryKey: "vin",
                properties: [
                    Property("vin", .scalar(.string)), Property("name", .scalar(.string), isIndexed: true),
                    Property("price", .scalar(.double), isIndexed: true), Property("year", .scalar(.int)),
                    Property("dealer", .link("Dealer")), Property("owners", .links("Owner")),
                    Property("tags", PropertyType(.scalar(.string), container: .list), isIndexed: true),
                    Property("cost", .scalar(.decimal), isIndexed: true),
                    Property("bought", .scalar(.date), isIndexed: true),
                ]),
            ClassSchema(
                "Dealer", primaryKey: "code",
                properties: [
                    Property("code", .scalar(.string)), Property("city", .scalar(.string), isIndexed: true),
                    Property("owner", .link("Owner")),
                ]),
            ClassSchema(
                "Owner",
                properties: [
                    Property("name", .scalar(.string), isIndexed: true),
                    Property("age", .scalar(.int), isIndexed: true),
                ]),
        ])
        try storage.write { _ = try storage.merge(schema, sides: ("a", "b")) }
        return storage
    }

    private func plan(_ text: String, inOrder: Bool, _ storage: SQLiteServerStorage) throws -> QueryExplanation.Plan {
        let query = try Query.parse(text, schema: storage.schema)
        return try #require(try storage.plan(of: query, order: inOrder ? .result : .row(after: 0)))
    }

    @Test(arguments: [
        ("Car WHERE name == 'a'", ["SEARCH o USING INDEX x_Car_name (p_name=?"]),
        ("Car WHERE name == 'a' AND year > 3", ["SEARCH o USING INDEX x_Car_name (p_name=?"]),
        ("Car WHERE price > 3 LIMIT(5)", ["SEARCH o USING INDEX x_Car_price (p_price>? AND p_price<?)"]),
        ("Car WHERE price < 3 LIMIT(5)", ["SEARCH o USING INDEX x_Car_price (p_price<?)"]),
        ("Car WHERE cost >= 3 LIMIT(5)", ["SEARCH o USING INDEX x_Car_cost (p_cost>? AND p_cost<?)"]),
        ("Car WHERE price BETWEEN {1, 2} LIMIT(5)", ["SEARCH o USING INDEX x_Car_price (p_price>? AND p_price<?)"]),
        ("Car WHERE bought > T0:0 LIMIT(5)", ["SEARCH o USING INDEX x_Car_bought (p_bought>?)"]),
        ("Car WHERE name BEGINSWITH 'ab' LIMIT(5)", ["SEARCH o USING INDEX x_Car_name (p_name>? AND p_name<?)"]),
        ("Car WHERE name LIKE 'ab*' LIMIT(5)", ["SEARCH o USING INDEX x_Car_name (p_name>? AND p_name<?)"]),
        ("Car WHERE name IN {'a', 'b'} LIMIT(5)", ["SEARCH o USING INDEX x_Car_name (p_name=?)"]),
        ("Car WHERE name == 'a' OR name == 'b' LIMIT(5)", ["SEARCH o USING INDEX x_Car_name (p_name=?)"]),
        ("Car WHERE name == 'a' OR price < 3 LIMIT(5)", ["MULTI-INDEX OR", "x_Car_name", "x_Car_price"]),
        ("Car WHERE vin == 'a'", ["SEARCH o USING INDEX sqlite_autoindex_o_Car_1 (p_vin=?)"]),
        ("Car WHERE vin IN {'a', 'b'} LIMIT(5)", ["SEARCH o USING INDEX sqlite_autoindex_o_Car_1 (p_vin=?)"]),
        ("Car WHERE dealer == 'a' LIMIT(5)", ["USING INDEX x_Car_dealer", "sqlite_autoindex_o_Dealer_1 (p_code=?)"]),
        ("Car WHERE dealer.city == 'Ulm' LIMIT(5)", ["USING INDEX x_Car_dealer", "x_Dealer_city (p_city=?)"]),
        (
            "Car WHERE dealer.owner.age > 60 LIMIT(5)",
            ["USING INDEX x_Car_dealer", "x_Dealer_owner", "x_Owner_age (p_age>?)"]
        ),
        ("Car WHERE owners.name == 'a' LIMIT(5)", ["USING INTEGER PRIMARY KEY", "x_Car_owners", "x_Owner_name"]),
        ("Car WHERE 'red' IN tags LIMIT(5)", ["USING INTEGER PRIMARY KEY", "x_Car_tags (value=?)"]),
        (
            "Car WHERE owners == oid(00000000000000010000000000000002) LIMIT(5)",
            ["USING INTEGER PRIMARY KEY", "x_Car_owners", "(_hi=? AND _lo=?)"]
        ),
        (
            "Car WHERE owners IN {oid(00000000000000010000000000000002), oid(00000000000000010000000000000003)} LIMIT(5)",
            [
                "USING INTEGER PRIMARY KEY", "x_Car_owners",
                "USING INDEX sqlite_autoindex_o_Owner_1 (_hi=? AND _lo=?)",
            ]
        ),
    ])
    func conditionsAreServedByIndexes(text: String, steps: [String]) throws {
        let plan = try plan(text, inOrder: text.contains("LIMIT"), Self.storage())
        for step in steps { #expect(plan.steps.contains { $0.contains(step) }, "\(step) is not in \(plan.steps)") }
        #expect(!plan.steps.contains { $0.contains("SCAN o") || $0.contains("SCAN t") }, "\(plan.steps)")
    }

    @Test(arguments: [
        "Car SORT(price ASC) LIMIT(5)", "Car SORT(price DESC) LIMIT(5)", "Car WHERE price > 3 SORT(price ASC) LIMIT(5)",
        "Car SORT(vin ASC) LIMIT(5)", "Owner SORT(age DESC) LIMIT(5)", "Car WHERE price < 3 SORT(price DESC) LIMIT(5)",
        "Owner LIMIT(5)",
    ])
    func anIndexThatHasTheOrderSparesTheSort(text: String) throws {
        let plan = try plan(text, inOrder: true, Self.storage())
        // Only objects with equal keys are sorted by their ids, a few at a time.
        #expect(!plan.steps.contains("USE TEMP B-TREE FOR ORDER BY"), "\(plan.steps)")
        #expect(plan.steps[0].contains("USING INDEX"), "\(plan.steps)")
    }

    @Test func aPageGoesOnWhereTheLastEndedWithoutSorting() throws {
        for text in ["Car", "Car WHERE name == 'a'", "Car WHERE year > 3"] {
            let plan = try plan(text, inOrder: false, Self.storage())
            #expect(plan.steps.count == 1 && plan.steps[0].contains("rowid>?"), "\(plan.steps)")
        }
    }

    /// Finding and sorting all rows for each page would take quadratic time.
    @Test func pagesOfARangeVisitEachRowOnce() throws {
        let storage = try Self.storage()
        let texts = [
            "Car WHERE price > 100", "Car WHERE price > 100 AND dealer == 'd1'", "Car WHERE name IN {'n1', 'n2'}",
        ]
        var inserted: [ObjectKey] = []
        try storage.write {
            for number in 0..<500 {
                inserted.append(.string("c\(number * 7 % 500)"))
                let values: [Value] = [
                    .string("c\(number * 7 % 500)"), .string("n\(number % 5)"), .double(Double(number * 31 % 400)),
                    .int(0),
                    .link(.string("d\(number % 3)")), .list([]), .list([]), .decimal(0),
                    .date(Timestamp(microseconds: 0)),
                ]
                try storage.insert(
                    Row(key: .string("c\(number * 7 % 500)"), version: 1, values: values), ofClass: 0)
            }
        }
        for text in texts {
            let query = try Query.parse(text, schema: storage.schema)
            var found: [ObjectKey: Row] = [:]
            try storage.forEachRow(matching: query) { row in
                found[row.key] = row
                return true
            }
            let expected = inserted.compactMap { found[$0] }
            for (limit, byteCountMax) in [(7, Int.max), (1_000, 200), (1_000, .max)] {
                var rows: [Row] = []
                var cursor: RowCursor?
                var pageCount = 0
                repeat {
                    let page = try storage.rows(
                        matching: query, after: cursor, limit: limit, byteCountMax: byteCountMax)
                    rows += page.rows
                    cursor = page.next
                    pageCount += 1
                } while cursor != nil && pageCount < 1_000
                #expect(rows == expected, "\(text) by \(limit) rows or \(byteCountMax) bytes")
            }
        }
        // A row that has left in the meantime is not returned.
        let query = try Query.parse(texts[2], schema: storage.schema)
        let first = try storage.rows(matching: query, after: nil, limit: 5, byteCountMax: .max)
        let second = try storage.rows(matching: query, after: first.next, limit: 5, byteCountMax: .max)
        try storage.write { try storage.delete(ObjectRef(0, second.rows[2].key), version: 2) }
        let again = try storage.rows(matching: query, after: first.next, limit: 5, byteCountMax: .max)
        #expect(again.rows == second.rows.enumerated().filter { $0.offset != 2 }.map(\.element))
        #expect(again.next == second.next)
    }

    /// The steps that reading a query's first page takes.
    private func stepCount(_ text: String, _ storage: SQLiteServerStorage) throws -> Int {
        let work = WorkLimit(stepCountMax: .max, interval: 20)
        let query = try Query.parse(text, schema: storage.schema)
        _ = try storage.withWorkLimit(work) {
            try storage.rows(matching: query, after: nil, limit: 2_000, byteCountMax: .max)
        }
        return work.stepCount
    }

    @Test func aSmallRangeIsFoundByItsIndexAndALargeOneByAScan() throws {
        let storage = try Self.storage()
        try storage.write {
            for number in 0..<5_000 {
                let values: [Value] = [
                    .string("c\(number * 7 % 5_000)"), .string("n\(number)"), .double(Double(number * 31 % 5_000)),
                    .int(0), .null, .list([]), .list([]), .decimal(0), .date(Timestamp(microseconds: 0)),
                ]
                try storage.insert(
                    Row(key: .string("c\(number * 7 % 5_000)"), version: 1, values: values), ofClass: 0)
            }
        }
        for text in [
            "Car WHERE price > 4980", "Car WHERE price BETWEEN {10, 20}", "Car WHERE name BEGINSWITH 'n123'",
            "Car WHERE price < 20 AND year == 0", "Car WHERE price < 20 SORT(year ASC)",
        ] {
            #expect(try stepCount(text, storage) < 3_000, "\(text)")
        }
        let scan = try stepCount("Car WHERE year >= 0", storage)
        #expect(try stepCount("Car WHERE price >= 0", storage) < scan + scan / 4)
    }

    @Test func placeholdersAreNumberedAndTheirValuesListed() throws {
        let plan = try plan("Car WHERE name == 'it\\'s' AND year == 3", inOrder: true, Self.storage())
        #expect(plan.sql.contains("= ?1") && plan.sql.contains("= ?2") && !plan.sql.contains("it's"), "\(plan.sql)")
        #expect(plan.parameters == ["'it''s'", "3"])
        #expect(plan.indexes == [.init(name: "x_Car_name", className: "Car", properties: ["name"], origin: .declared)])
    }

    @Test func objectsByIdAndByKeyAreLookups() throws {
        let storage = try Self.storage()
        let query = try Query.parse("OBJECT(00000000000000010000000000000002)", schema: storage.schema)
        #expect(try storage.plan(of: query, order: .result) == nil)
    }

    @Test(arguments: [
        TableIndex(classIndex: 0, columns: [.init(3)]),
        TableIndex(classIndex: 0, columns: [.init(3), .init(2, isAscending: false)]),
        TableIndex(classIndex: 2, columns: [.init(1, isAscending: false)], endsWithID: true),
    ])
    func anAutomaticIndexIsFoundByItsNameAndGoesWithoutATrace(index: TableIndex) throws {
        let storage = try Self.storage()
        let declared = try storage.indexes()
        #expect(declared.allSatisfy { $0.origin == .declared || $0.origin == .link })
        try storage.make(index)
        #expect(try storage.automaticIndexes() == [index])
        #expect(try storage.indexes().filter { $0.origin == .automatic } == [index.description(in: storage.schema)])
        try storage.drop(index)
        #expect(try storage.indexes() == declared)
    }

    @Test func automaticIndexesServeTheQueriesTheyAreMadeFor() throws {
        let storage = try Self.storage()
        try storage.make(TableIndex(classIndex: 0, columns: [.init(1), .init(3)]))
        let window = try plan("Car WHERE name == 'a' SORT(year DESC) LIMIT(5)", inOrder: true, storage)
        #expect(window.steps[0].contains("a_Car.name.year (p_name=?)"), "\(window.steps)")
        #expect(!window.steps.contains("USE TEMP B-TREE FOR ORDER BY"), "\(window.steps)")
        try storage.make(TableIndex(classIndex: 2, columns: [.init(1, isAscending: false)], endsWithID: true))
        let keyless = try plan("Owner SORT(age DESC) LIMIT(5)", inOrder: true, storage)
        #expect(keyless.steps == ["SCAN o USING INDEX a_Owner.age-.@id"], "\(keyless.steps)")
    }
}
