import Foundation
import Glibc
import SluiceModel
import Testing

@testable import SluiceCLI

struct ImportTests {
    private static let planes = try? ClassSchema(
        "Plane", primaryKey: "tailnum",
        properties: [Property("tailnum", .scalar(.string)), Property("year", .scalar(.int))])

    private func schema() throws -> Schema { try Schema([#require(Self.planes)]) }

    private func load(
        _ text: String, suffix: String = ".csv", className: String = "Flight", key: String? = nil, links: [String] = [],
        types: [String] = [], isOptional: Bool = false, skip: Bool = false, schema: Schema = Schema()
    ) throws -> (plan: ImportPlan, records: [Record], bad: Int) {
        let file = try TemporaryFile(text, suffix: suffix)
        let source = try ImportFile(path: file.path, skipsBadRows: skip)
        let request = ImportPlan.Request(
            className: className, key: key, links: try links.map { try LinkOption($0) },
            types: try types.map { try TypeOption($0) }, isOptional: isOptional)
        let plan = try ImportPlan(request, columns: try source.infer(), schema: schema)
        let rows = try source.rows(plan)
        var records: [Record] = []
        while true {
            let batch = try rows.batch(upTo: 2)
            if batch.isEmpty { return (plan, records, rows.badRowCount) }
            records += batch
        }
    }

    private func types(_ plan: ImportPlan) -> [String: String] {
        Dictionary(uniqueKeysWithValues: plan.classSchema.properties.map { ($0.name, $0.type.description) })
    }

    @Test(arguments: [".csv", ".jsonl"])
    func aFileOfTooManyColumnsIsRefusedBeforeAnythingIsDeclared(suffix: String) throws {
        let names = (0..<100_000).map { "c\($0)" }
        let text =
            suffix == ".csv"
            ? names.joined(separator: ",") + "\n1\n" : "{" + names.map { "\"\($0)\":1" }.joined(separator: ",") + "}\n"
        let error = #expect(throws: CommandError.self) { try load(text, suffix: suffix, skip: true) }
        #expect(error?.message.hasSuffix("100000 columns; a class has at most 500 properties") == true)
    }

    @Test func aColumnWhoseNameIsTooLongIsRefusedWithTheLimit() throws {
        let error = #expect(throws: (any Error).self) {
            try load(String(repeating: "c", count: 64) + "\n1\n")
        }
        #expect("\(try #require(error))".contains("1 to 63"))
    }

    @Test(arguments: [
        ("1\n2\n", "int"), ("1\nNA\n", "int?"), ("1\n2.5\n", "double"), ("1\n\n2.5\n", "double?"),
        ("true\nfalse\n", "bool"),
        ("2013-01-01T10:00:00Z\n", "date"), ("2013-01-01T10:00:00Z\nNA\n", "date?"), ("1\nx\n", "string"),
        ("true\n1\n", "string"), ("NA\n\n", "string?"), ("x\nNA\n", "string?"), ("007\n", "string"),
        ("99999999999999999999\n", "string"), ("2013-01-01T10:00:00Z\n5\n", "string"), ("TRUE\n", "string"),
        ("", "string?"), ("1\nNaN\n", "double"), ("0.5\n-inf\nNA\n", "double?"), ("NaN\n", "double"),
        ("NaN\nx\n", "string"),
        ("-x\n", "string"), ("x\n\"\"\n", "string"), ("\"\"\n", "string"), ("\"NA\"\nNA\n", "string?"),
        ("\"1\"\n\"\"\n", "int?"),
    ])
    func theWholeColumnDecidesItsType(rows: String, type: String) throws {
        let plan = try load("x\n" + rows).plan
        #expect(types(plan) == ["x": type])
    }

    @Test(arguments: [
        (#"{"x":1}"#, "int"), (#"{"x":1.5}"#, "double"), (#"{"x":"a"}"#, "string"), (#"{"x":null}"#, "string?"),
        (#"{"x":"2013-01-01T10:00:00Z"}"#, "date"), (#"{"x":[1,2]}"#, "[int]"), (#"{"x":[1,null,2.5]}"#, "[double?]"),
        (#"{"x":{"a":1}}"#, "[string: int]"), (#"{"x":[[1]]}"#, "string"), ("{\"x\":1}\n{\"x\":\"a\"}", "string"),
        ("{\"x\":1}\n{}", "int?"), ("{}\n{\"x\":true}", "bool?"), ("{\"x\":1}\n{\"x\":[1]}", "string"),
        (#"{"x":1e400}"#, "string"), ("{\"x\":[1]}\n{}\n{\"x\":null}", "[int]"),
        ("{\"x\":null}\n{\"x\":{}}", "[string: string]"),
        ("{\"x\":1}\n{\"x\":\"NaN\"}", "double"), (#"{"x":-0}"#, "double"),
        ("{\"x\":\"Infinity\"}\n{\"x\":\"x\"}", "string"),
    ])
    func jsonColumnsAreTypedLikewise(lines: String, type: String) throws {
        let file = try TemporaryFile(lines + "\n", suffix: ".jsonl")
        let source = try ImportFile(path: file.path, skipsBadRows: false)
        let request = ImportPlan.Request(className: "C", key: nil, links: [])
        let plan = try ImportPlan(request, columns: try source.infer(), schema: Schema())
        #expect(types(plan) == ["x": type])
    }

    @Test func keysAndLinksShapeTheClass() throws {
        let result = try load(
            "id,tail num,delay\n1,N1,5\n2,NA,NA\n", key: "id", links: ["tail num:Plane:plane"], schema: try schema())
        #expect(types(result.plan) == ["id": "int", "plane": "Link<Plane>", "delay": "int?"])
        #expect(result.plan.classSchema.primaryKey == "id")
        #expect(result.plan.needsDeclaration)
        #expect(result.records.map(\.key) == [.int(1), .int(2)])
        #expect(result.records[0]["plane"] == .link(.string("N1")))
        #expect(result.records[1]["plane"] == .null)
        #expect(result.records[1]["delay"] == .null)
    }

    @Test func aClassMayLinkToItself() throws {
        let result = try load("id,boss\n1,NA\n2,1\n", className: "Person", key: "id", links: ["boss:Person"])
        #expect(result.records[1]["boss"] == .link(.int(1)))
    }

    @Test func aFileInPartsMayHaveNullsLater() throws {
        let first = try load("id,delay,tags\n1,5,NA\n", key: "id", types: ["tags:[int]"], isOptional: true)
        #expect(types(first.plan) == ["id": "int", "delay": "int?", "tags": "[int]"])
        let schema = try Schema([first.plan.classSchema])
        let second = try load("id,delay,tags\n2,NA,[7]\n", schema: schema)
        #expect(second.records[0]["delay"] == .null)
        #expect(second.records[0]["tags"] == .list([.int(7)]))
    }

    @Test func typesThatAreAskedForWinOverInference() throws {
        let result = try load("id,a:b,c\n1,5,NA\n", key: "id", types: ["id:string", "a:b:double", "c:date?"])
        #expect(types(result.plan) == ["id": "string", "a_b": "double", "c": "date?"])
        #expect(result.records[0].key == .string("1"))
        #expect(result.plan.notes == [])
    }

    @Test func aColumnWithoutValuesIsAGuessThatIsTold() throws {
        let notes = try load("a,b\n1,NA\n2,\n").plan.notes
        #expect(notes == ["the column 'b' holds no value, so it becomes string?; --type=b:TYPE says otherwise"])
    }

    @Test func nullWhereNoneIsAllowedIsNamedAsItStands() throws {
        for (text, message) in [("NA", "NA means null, and int allows no null"), ("", "it is empty, and int")] {
            let error = #expect(throws: CommandError.self) {
                try load("tailnum,year\nN1,\(text)\n", className: "Plane", schema: try schema())
            }
            #expect(error?.message.contains(message) == true, "\(error?.message ?? "")")
        }
    }

    @Test(arguments: ["a", ":int", "a:", "a:integer", "a:int??", "a:[[int]]", "a:Link<B>"])
    func typeOptionsNameAColumnAndAType(text: String) {
        #expect(throws: CommandError.self) { try TypeOption(text) }
    }

    @Test func aTypeThatContradictsTheSchemaIsRefused() throws {
        for (type, link, message) in [
            ("year:double", [], "exists and is int"), ("seats:int", ["seats:Plane"], "both --type and --link"),
        ] as [(String, [String], String)] {
            let error = #expect(throws: CommandError.self) {
                try load(
                    "tailnum,year,seats\nN1,1,2\n", className: "Plane", links: link, types: [type], schema: try schema()
                )
            }
            #expect(error?.message.contains(message) == true, "\(error?.message ?? "")")
        }
    }

    @Test func anExistingClassWinsOverInference() throws {
        let result = try load(
            "tailnum,year\n12,1999\n", className: "Plane", schema: try schema())
        #expect(!result.plan.needsDeclaration)
        #expect(result.records[0].key == .string("12"))
        #expect(result.records[0]["year"] == .int(1999))
    }

    @Test func newColumnsOfAnExistingClassAreOptionalAndMissingOnesAbsent() throws {
        let result = try load("tailnum,seats\nN1,7\n", className: "Plane", schema: try schema())
        #expect(result.plan.needsDeclaration)
        #expect(types(result.plan) == ["tailnum": "string", "year": "int", "seats": "int?"])
        #expect(!result.records[0].isPresent("year"))
    }

    @Test(
        arguments: [
            ("a,a\n1,2\n", nil, [], "two columns are named 'a'"), ("a,\n1,2\n", nil, [], "column 2 has no name"),
            ("a b,a_b\n1,2\n", nil, [], "both make the property 'a_b'"),
            ("東,b\n1,2\n", nil, [], "cannot name a property"),
            ("a\n1\n", "b", [], "there is no column 'b'"), ("a\n1\n", nil, ["b:Plane"], "there is no column 'b'"),
            ("a\n1\n", nil, ["a:Ship"], "there is no class 'Ship'"),
            ("a\n1\n", "a", ["a:Plane"], "both --key and --link"),
            ("a\n1\n", nil, ["a:Plane", "a:Plane:c"], "twice"),
        ] as [(String, String?, [String], String)])
    func contradictionsAreExplained(text: String, key: String?, links: [String], message: String) throws {
        let error = #expect(throws: CommandError.self) {
            try load(text, key: key, links: links, schema: try schema())
        }
        #expect(error?.message.contains(message) == true, "\(error?.message ?? "")")
    }

    @Test(arguments: ["a", "a:", ":B", "a:B:c:d", "a:B:2x", "a:B C"])
    func linkOptionsHaveTwoOrThreeParts(text: String) {
        #expect(throws: CommandError.self) { try LinkOption(text) }
    }

    @Test func anotherKeyThanTheExistingOneIsRefused() throws {
        let error = #expect(throws: CommandError.self) {
            try load("tailnum,year\nN1,1\n", className: "Plane", key: "year", schema: try schema())
        }
        #expect(error?.message.contains("primary key 'tailnum'") == true)
    }

    @Test func badRowsStopTheImportOrAreCounted() throws {
        let text = "tailnum,year\nN1,1999\nN2,soon\nN3\n,4\nN5,2005\n"
        let error = #expect(throws: CommandError.self) {
            try load(text, className: "Plane", schema: try schema())
        }
        #expect(error?.message.contains(":4: 1 field") == true, "\(error?.message ?? "")")
        let result = try load(text, className: "Plane", skip: true, schema: try schema())
        #expect(result.records.map(\.key) == [.string("N1"), .string("N5")])
        #expect(result.bad == 3)
    }

    @Test func aBadValueNamesFileLineAndColumn() throws {
        let error = #expect(throws: CommandError.self) {
            try load("tailnum,year\nN1,1999\nN2,soon\n", className: "Plane", schema: try schema())
        }
        #expect(
            error?.message.hasSuffix(":3: column 'year': 'soon' is not of type int") == true, "\(error?.message ?? "")")
    }

    @Test func jsonLinesCarryIdsAndCollections() throws {
        let id = ObjectID(high: 7, low: 9)
        let result = try load(
            "{\"@id\":\"\(id)\",\"tags\":[\"a\"],\"n\":1}\n\n{\"@id\":\"\(id)\",\"n\":2,\"tags\":[]}\n",
            suffix: ".jsonl")
        #expect(result.records.map(\.key) == [.id(id), .id(id)])
        #expect(result.records[0]["tags"] == .list([.string("a")]))
    }

    @Test func batchesAreCutByRowsAndByBytes() throws {
        let long = String(repeating: "x", count: 1_000)
        let file = try TemporaryFile("n,text\n1,a\n2,b\n3,c\n4,\(long)\n5,\(long)\n6,d\n")
        let source = try ImportFile(path: file.path, skipsBadRows: false)
        let request = ImportPlan.Request(className: "Row", key: nil, links: [])
        let rows = try source.rows(ImportPlan(request, columns: try source.infer(), schema: Schema()))
        var batches: [[Value?]] = []
        while true {
            let batch = try rows.batch(upTo: 2, byteCount: 1_000)
            if batch.isEmpty { break }
            batches.append(batch.map { $0["n"] })
        }
        #expect(batches == [[.int(1), .int(2)], [.int(3)], [.int(4)], [.int(5)], [.int(6)]])
    }

    @Test func aRowThatFitsNoTransactionIsABadRow() throws {
        let text = "n,text\n1,a\n2,\(String(repeating: "x", count: 13 << 20))\n3,c\n"
        let error = #expect(throws: CommandError.self) { try load(text) }
        #expect(error?.message.contains("bytes of an object; at most 12582912 are allowed") == true)
        #expect(error?.message.contains(":3: Flight: ") == true)
        let result = try load(text, skip: true)
        #expect(result.records.map { $0["n"] } == [.int(1), .int(3)])
        #expect(result.bad == 1)
    }

    private static func mixed(_ index: Int, _ declared: ClassSchema) throws -> Record {
        var values: [String: Value] = ["k": .string("key \"\(index)\",\n"), "b": .data([UInt8(index)])]
        values["d"] = .double(Double(index) / 7)
        values["i"] = index % 3 == 0 ? .null : .int(Int64(index))
        values["t"] = .date(Timestamp(microseconds: Int64(index) * 1_234_567))
        values["p"] = index % 2 == 0 ? .null : .link(.string("N\(index)"))
        values["l"] = .list([.string("a,b"), .string("\"")])
        return try Record(declared, values)
    }

    @Test func exportedRowsComeBackTheSame() throws {
        let declared = try ClassSchema(
            "Mix", primaryKey: "k",
            properties: [
                Property("k", .scalar(.string)), Property("d", .scalar(.double)),
                Property("i", .scalar(.int, isOptional: true)),
                Property("t", .scalar(.date)), Property("p", .link("Plane")),
                Property("l", PropertyType(.scalar(.string), container: .list)), Property("b", .scalar(.data)),
            ])
        let schema = try Schema([#require(Self.planes), declared])
        let originals = try (0..<50).map { try Self.mixed($0, declared) }
        var csv = CSVWriter(declared)
        var lines: [UInt8] = []
        for record in originals {
            csv.write(record)
            lines += try RecordRenderer().line(record)
        }
        for (text, suffix) in [(csv.bytes, ".csv"), (lines, ".jsonl")] {
            let result = try load(
                String(decoding: text, as: UTF8.self), suffix: suffix, className: "Mix", schema: schema)
            #expect(result.records.map(\.row.values) == originals.map(\.row.values))
            #expect(result.records.map(\.key) == originals.map(\.key))
        }
    }

    /// Values that are easily mistaken for others: nulls, words for null, empty text, texts that look like numbers.
    private static let confusable: [[Value]] = [
        [.string("a"), .string(""), .null, .double(.infinity), .list([])],
        [.string("b"), .string("NA"), .string(""), .double(-.infinity), .list([.int(1)])],
        [.string("c"), .string("x"), .string("NA"), .double(1.5), .list([])],
        [.string(""), .string("NaN"), .null, .double(1e300), .list([.int(2), .int(3)])],
        [.string("NA"), .string("\""), .string("null"), .double(-2), .list([])],
    ]

    private func exported(_ declared: ClassSchema, _ rows: [[Value]], suffix: String) throws -> String {
        var csv = CSVWriter(declared)
        var lines: [UInt8] = []
        for values in rows {
            let record = Record(
                classSchema: declared, row: Row(key: ObjectKey(primaryKey: values[0]) ?? .int(0), values: values))
            csv.write(record)
            lines += try RecordRenderer().line(record)
        }
        return String(decoding: suffix == ".csv" ? csv.bytes : lines, as: UTF8.self)
    }

    @Test(arguments: [".csv", ".jsonl"])
    func whatLooksLikeNullComesBackAsItWasAlsoIntoANewClass(suffix: String) throws {
        let declared = try ClassSchema(
            "Odd", primaryKey: "k",
            properties: [
                Property("k", .scalar(.string)), Property("s", .scalar(.string)),
                Property("o", .scalar(.string, isOptional: true)), Property("d", .scalar(.double)),
                Property("l", PropertyType(.scalar(.int), container: .list)),
            ])
        let text = try exported(declared, Self.confusable, suffix: suffix)
        for schema in suffix == ".csv" ? [try Schema([declared])] : [try Schema([declared]), Schema()] {
            let result = try load(text, suffix: suffix, className: "Odd", key: "k", schema: schema)
            #expect(types(result.plan) == ["k": "string", "s": "string", "o": "string?", "d": "double", "l": "[int]"])
            #expect(result.records.map(\.row.values) == Self.confusable)
        }
    }

    @Test func aSinglePropertyMayBeNullOrEmpty() throws {
        let declared = try ClassSchema("Odd", properties: [Property("s", .scalar(.string, isOptional: true))])
        let rows: [[Value]] = [[.string("")], [.null], [.string("NA")], [.null]]
        let result = try load(
            try exported(declared, rows, suffix: ".csv"), className: "Odd", schema: try Schema([declared]))
        #expect(result.records.map(\.row.values) == rows)
    }

    @Test func listsThatAreMissingOrNullAreEmpty() throws {
        let result = try load("{\"n\":1,\"l\":[1,2]}\n{\"n\":2}\n{\"n\":3,\"l\":null}\n", suffix: ".jsonl")
        #expect(result.records.map { $0["l"] } == [.list([.int(1), .int(2)]), .list([]), .list([])])
    }

    @Test func notANumberIsANumber() throws {
        let result = try load("x\n1\nnan\nInf\n-inf\n-0.0\n")
        let values = result.records.compactMap { record -> Double? in
            if case .double(let value)? = record["x"] { value } else { nil }
        }
        #expect(values.count == 5 && values[1].isNaN && values[4].sign == .minus)
        #expect(values[0] == 1 && values[2] == .infinity && values[3] == -.infinity)
    }

    @Test func linesThatEndWithCarriageReturnsAloneAreRefused() throws {
        let error = #expect(throws: CommandError.self) { try load("a,b\r1,2\r3,4\r") }
        #expect(error?.message.contains(":1: the header holds a carriage return") == true, "\(error?.message ?? "")")
    }

    @Test(
        arguments: [
            ("a,b\n1,2\n", nil), ("1,2\n3,4\n", "1"), ("a,2013-01-01T10:00:00Z\n", "2013-01-01T10:00:00Z"),
            ("_1,2x\n", nil),
        ] as [(String, String?)])
    func aHeaderThatLooksLikeARowIsPointedOut(text: String, value: String?) throws {
        let file = try TemporaryFile(text)
        let warning = try ImportFile(path: file.path, skipsBadRows: false).warning()
        #expect(
            warning
                == value.map {
                    "\(file.path):1: the column name '\($0)' looks like a value; is the header line missing?"
                })
    }

    @Test func aPipeIsRefusedAtOnce() throws {
        let path = NSTemporaryDirectory() + "sluice-pipe-\(UUID().uuidString).csv"
        #expect(mkfifo(path, 0o600) == 0)
        defer { unlink(path) }
        for path in [path, "/dev/null"] {
            let error = #expect(throws: CommandError.self) { try ImportFile(path: path, skipsBadRows: false) }
            #expect(error?.message.contains("it cannot be a pipe") == true, "\(error?.message ?? "")")
        }
    }

    @Test(arguments: ["flights.txt", "flights.csv.zip", "flights", ".gz"])
    func unknownKindsOfFileAreRefused(path: String) {
        #expect(throws: CommandError.self) { try ImportFormat(path: path) }
    }

    @Test(
        arguments: [
            ("dep_time", "dep_time"), ("Departure Delay (min)", "Departure_Delay_min"), ("2013", "_2013"),
            ("a-b.c", "a_b_c"),
            (" x ", "x"), ("__", nil), ("", nil), ("東京", nil), (String(repeating: "a", count: 64), nil),
        ] as [(String, String?)])
    func columnsBecomeProperties(column: String, property: String?) {
        #expect(PropertyName.make(of: column) == property)
    }
}
