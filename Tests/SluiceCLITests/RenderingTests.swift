import SluiceExchange
import SluiceJSON
import SluiceModel
import SluiceQuery
import Testing

@testable import SluiceCLI

struct RenderingTests {
    private let users: ClassSchema
    private let cars: ClassSchema
    private let schema: Schema

    init() throws {
        users = try ClassSchema(
            "User", primaryKey: "id", properties: [Property("id", .scalar(.int)), Property("friend", .link("User"))])
        cars = try ClassSchema(
            "Car",
            properties: [
                Property("name", .scalar(.string)), Property("owners", .links("User")),
                Property("price", .scalar(.double)),
            ])
        schema = try Schema([users, cars])
    }

    private func line(_ record: Record, _ renderer: RecordRenderer) throws -> String {
        String(decoding: try renderer.line(record), as: UTF8.self)
    }

    private var car: Record {
        get throws {
            let values: [Value] = [.string("Toyota"), .list([.link(.int(1)), .link(.int(2))]), .double(9000)]
            return Record(
                classSchema: cars, row: Row(key: .id(ObjectID(high: 1, low: 2)), values: values))
        }
    }

    @Test func objectsHaveTheirIdFirstAndLinksAsKeys() throws {
        #expect(
            try line(car, RecordRenderer())
                == "{\"@id\":\"00000000000000010000000000000002\",\"name\":\"Toyota\",\"owners\":[1,2],\"price\":9000.0}\n"
        )
    }

    @Test func excludedPropertiesAreLeftOut() throws {
        let row = Row(key: .id(ObjectID(high: 1, low: 2)), values: try car.row.values, absent: [0, 1])
        #expect(
            try line(Record(classSchema: cars, row: row), RecordRenderer())
                == "{\"@id\":\"00000000000000010000000000000002\",\"price\":9000.0}\n")
    }

    @Test func expandedLinksNestTargetsThatAreHere() throws {
        let user = try Record(users, ["id": .int(1), "friend": .link(.int(2))])
        let renderer = RecordRenderer(
            expansion: try Expansion("owners.friend", className: "Car", schema: schema),
            resolve: { name, key in name == "User" && key == .int(1) ? user : nil })
        #expect(
            try line(car, renderer).contains(
                "\"owners\":[{\"@id\":\"\(user.objectID)\",\"id\":1,\"friend\":2},2]"))
    }

    @Test(arguments: [
        ("owner", "did you mean 'owners'?"), ("name", "not a link"), ("owners.x", "User has no property 'x'"),
        ("", "no property ''"),
    ])
    func expansionsMustNameLinks(paths: String, message: String) {
        let error = #expect(throws: CommandError.self) { try Expansion(paths, className: "Car", schema: schema) }
        #expect(error?.message.contains(message) == true, "\(error?.message ?? "")")
        // A property may be there later.
        #expect(error?.kind == (paths == "name" ? .usage : .failure))
    }

    @Test(arguments: [
        ("Car EXCLUDE(a)", "a,b", ["a"]), ("Car EXCLUDE(a, b.c)", "b,b.c,b.c.d,a.x", ["b.c", "b.c.d", "a.x"]),
        ("Car", "a", []), ("Car EXCLUDE(ab)", "a", []),
    ])
    func expansionsOfWhatAQueryExcludesAreFound(query: String, paths: String, excluded: [String]) throws {
        #expect(Expansion.paths(paths, excludedBy: try QuerySyntax.parse(query)) == excluded)
    }

    @Test func changeLinesHaveAllFields() throws {
        let id = ObjectID(high: 0, low: 5)
        let local = ChangeLine(
            isInitial: true, state: "pending", inserted: [], updated: [], removed: [], count: 0, remote: nil)
        #expect(
            String(decoding: try local.bytes(RecordRenderer()), as: UTF8.self)
                == #"{"type":"initial","state":"pending","inserted":[],"updated":[],"removed":[],"#
                + #""count":0,"total":null,"exact":null,"remote":null}"#
                + "\n")
        var counted = local
        counted.total = 12_304
        for (isExact, title) in [(true, "0 of 12,304"), (false, "0 of about 12,304")] {
            counted.isTotalExact = isExact
            let line = String(decoding: try counted.bytes(RecordRenderer()), as: UTF8.self)
            #expect(line.contains(#""total":12304,"exact":\#(isExact),"remote""#), "\(line)")
            #expect(RecordTable.title(counted).hasSuffix(title))
        }
        let remote = ChangeLine(
            isInitial: false, state: "complete", inserted: [try car], updated: [], removed: [(id, "filter")], count: 1,
            remote: .init(
                userID: nil, operations: ["add", "create"], acceptedAt: Timestamp(microseconds: 0),
                receivedAt: Timestamp(microseconds: 1_500_000), workerID: "w"))
        let text = String(decoding: try remote.bytes(RecordRenderer()), as: UTF8.self)
        #expect(text.contains(#""removed":[{"@id":"00000000000000000000000000000005","reason":"filter"}],"count":1"#))
        #expect(
            text.hasSuffix(
                #""remote":{"userID":null,"operations":["add","create"],"acceptedAt":"1970-01-01T00:00:00Z","receivedAt":"1970-01-01T00:00:01.500Z","workerID":"w"}}"#
                    + "\n"))
    }

    @Test func tablesAlignCutAndDisarm() {
        let table = TableRenderer(
            columns: [.init(title: "name", isNumeric: false), .init(title: "n", isNumeric: true)], width: 14)
        #expect(
            table.lines([["Toyota Corolla", "5"], ["\u{1B}[2J", "120"]]) == [
                "name         n", "─────────  ───", "Toyota C…    5", "\\u{1B}[2J  120",
            ])
        #expect(DisplayText.width("東京a") == 5)
        #expect(DisplayText.cut("東京a", to: 4) == "東…")
    }

    @Test(arguments: [("ann", " from ann"), (nil, "")] as [(String?, String)])
    func aChangeNamesItsAuthorWhereThereIsOne(userID: String?, ending: String) {
        let change = ChangeLine(
            isInitial: false, state: "complete", inserted: [], updated: [],
            removed: [(ObjectID(high: 0, low: 1), "filter")],
            count: 1200,
            remote: .init(
                userID: userID, operations: [], acceptedAt: Timestamp(microseconds: 0),
                receivedAt: Timestamp(microseconds: 0), workerID: nil))
        #expect(
            RecordTable.title(change) == "── complete: 1 removed, 1,200 in all; accepted 1970-01-01T00:00:00Z" + ending)
    }

    @Test func columnsWithoutRoomAreCounted() {
        let columns = (1...5).map { TableRenderer.Column(title: "column\($0)", isNumeric: false) }
        let row = columns.map(\.title)
        func lines(_ width: Int?) -> [String] { TableRenderer(columns: columns, width: width).lines([row]) }
        let footer = "not shown; --format=jsonl or a wider terminal shows all"
        #expect(lines(nil).count == 3)
        #expect(lines(38).count == 3)
        #expect(lines(37).last == "1 column is \(footer)")
        #expect(lines(22).last == "2 columns are \(footer)")
        #expect(lines(22)[1] == "──────  ──────  ──────")
        #expect(lines(3).map(\.count).prefix(3) == [3, 3, 3])
        #expect(lines(3).last == "4 columns are \(footer)")
    }

    @Test(arguments: [
        ("one", "one"), ("one\ntwo\r\nthree\n", "one\n  two\n  three"),
        ("a\u{1B}[2J\nb\u{202E}", "a\\u{1B}[2J\n  b\\u{202E}"),
        ("", ""), ("\n", ""), ("a\rb\u{2028}c", "a\n  b\n  c"),
    ])
    func linesOfAMessageStayLinesAndNoneLooksLikeAMessageOfItsOwn(text: String, shown: String) {
        #expect(DisplayText.harmlessLines(text) == shown)
    }

    @Test(arguments: [
        ("x\u{1B}[31mx", "x\\u{1B}[31mx", #"x\u001b[31mx"#), ("a\u{9B}b", "a\\u{9B}b", #"a\u009bb"#),
        ("a\u{7F}", "a\\u{7F}", #"a\u007f"#), ("cod\u{202E}exe", "cod\\u{202E}exe", #"cod\u202eexe"#),
        ("\u{2066}é—東\u{061C}", "\\u{2066}é—東\\u{61C}", #"\u2066é—東\u061c"#), ("“é”€©", "“é”€©", "“é”€©"),
    ])
    func whatSteersATerminalIsEscaped(text: String, shown: String, json: String) throws {
        #expect(DisplayText.harmless(text) == shown)
        var writer = JSONWriter()
        writer.string(text)
        #expect(String(decoding: writer.bytes, as: UTF8.self) == "\"\(json)\"")
        #expect(try JSONParser.parse("\"\(json)\"") == .string(text))
    }

    @Test func progressTellsShareCountAndRate() {
        let line = ProgressBar.line(
            title: "importing", fraction: 0.5, count: 120_000, unit: "rows", elapsed: .seconds(2))
        #expect(line == "importing [############------------] 50 %  120,000 rows, 60,000/s")
        #expect(GroupedNumber.text(-1234567) == "-1,234,567")
    }
}
