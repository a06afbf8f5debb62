import FoundationEssentials
import SluiceExchange
import SluiceJSON
import SluiceModel
import SluiceQuery
import SluiceRules
import TestSupport
import Testing

@testable import SluiceCLI

/// One text of a number, by every way in: a cell of CSV, a line of JSON, `write`, an argument of a query, and a claim
/// in a rule.
struct NumberEntrancesTests {
    private static let types: [ScalarType] = [.int, .float, .double, .decimal]

    /// A class with a property of each type of number, named by the type.
    private static let schema: Schema = {
        let properties = types.map { Property($0.rawValue, .scalar($0)) }
        return try! Schema([
            ClassSchema("N", primaryKey: "id", properties: [Property("id", .scalar(.int))] + properties)
        ])
    }()

    // MARK: The ways in

    private static func codec(_ type: ScalarType) -> PropertyCodec { PropertyCodec(.scalar(type), schema: schema) }

    private static func cell(_ text: String, _ type: ScalarType) -> Value? {
        Array(text.utf8).withUnsafeBufferPointer { try? codec(type).value(text: $0) }
    }

    private static func row(_ text: String, _ type: ScalarType, suffix: String) throws -> Value? {
        let name = type.rawValue
        let content = suffix == ".csv" ? "id,\(name)\n1,\(text)\n" : "{\"id\":1,\"\(name)\":\(text)}\n"
        let file = try TemporaryFile(content, suffix: suffix)
        let source = try ImportFile(path: file.path, skipsBadRows: false)
        let request = ImportPlan.Request(className: "N", key: nil, links: [])
        let plan = try ImportPlan(request, columns: try source.infer(), schema: schema)
        return withExtendedLifetime(file) { (try? source.rows(plan).batch(upTo: 1))?.first?[name] }
    }

    private static func written(_ text: String, _ type: ScalarType) -> Value? {
        let line = #"{"op":"update","class":"N","key":1,"set":{"\#(type.rawValue)":\#(text)}}"#
        guard case .update(_, let set, _, _)? = try? WriteRequestParser(schema: schema).parse(line) else { return nil }
        return set[type.rawValue]
    }

    /// The value that an argument asks for; nil if it is no number of the type, or lies between two.
    private static func argument(_ text: String, _ type: ScalarType) -> Value? {
        let condition = "N WHERE \(type.rawValue) == $0"
        guard let syntax = try? QuerySyntax.parse(condition, textArguments: [text]),
            let query = try? Query(syntax, schema: schema)
        else { return nil }
        return query.constants.first
    }

    /// Whether a user with the number as a claim may read an object that has the value.
    private static func claim(_ text: String, allows value: Value, _ type: ScalarType) throws -> Bool {
        let rules = Rules(
            try RulesFile(#"{"classes":{"N":{"read":"\#(type.rawValue) == $user.claims.n"}}}"#), schema: schema)
        let user = RuleUser(id: "ada", claims: try JSONParser.parse(#"{"n":\#(text)}"#))
        let record = try Record(schema[0], ["id": .int(1), type.rawValue: value])
        let condition = rules.bind(user, facts: [:]).condition(of: .read, onClass: 0)
        return try condition?.allows(record.row, in: MemoryObjects(schema)) ?? false
    }

    // MARK: Texts

    /// Numbers near the ends of what each type holds, written in every way.
    private static func text(_ random: inout SeededGenerator) -> String {
        let near = random.pick([Int128(0), 1, 10, 1 << 24, 1 << 53, 1 << 54, 1 << 62, 1 << 63, 1 << 64, 1 << 80])
        let magnitude = (near + Int128(Int.random(in: -3...3, using: &random))).magnitude.description
        let sign = random.chance(30) ? "-" : ""
        let exponent = Int.random(in: 0...25, using: &random)
        let e = random.pick(["e", "E", "e+", "E+"])
        let written =
            switch Int.random(in: 0...7, using: &random) {
            case 0: magnitude
            case 1: magnitude + ".0"
            case 2: magnitude + random.pick([".5", ".25", ".1", ".000000000000000000000000000001"])
            case 3 where magnitude != "0": magnitude + String(repeating: "0", count: exponent) + "e-\(exponent)"
            case 4: magnitude + "\(e)\(exponent)"
            case 5:
                magnitude.count > 1
                    ? "\(magnitude.prefix(1)).\(magnitude.dropFirst())\(e)\(magnitude.count - 1)" : magnitude + "\(e)0"
            case 6: magnitude + "e-\(exponent)"
            default: random.pick(["1e400", "-0", "0.0", "0e0", "1e-400", "6.022140760000000226e+23", "0.1"])
            }
        return written.hasPrefix("-") ? written : sign + written
    }

    @Test(arguments: 1...40 as ClosedRange<UInt64>)
    func everyEntranceReadsANumberAlike(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        for _ in 0..<25 {
            let text = Self.text(&random)
            for type in Self.types {
                let value = Self.cell(text, type)
                let what = "\(text) as \(type.rawValue)"
                #expect(try Self.row(text, type, suffix: ".csv") == value, "\(what): a cell")
                #expect(try Self.row(text, type, suffix: ".jsonl") == value, "\(what): a line of JSON")
                #expect(Self.written(text, type) == value, "\(what): write")
                try Self.check(value, of: text, type)
                guard let value else { continue }
                #expect(Self.argument(text, type) == value, "\(what): an argument")
                #expect(try Self.claim(text, allows: value, type), "\(what): a claim")
            }
        }
    }

    /// What is stored has the value that was written, or is the nearest where the type is for rounding.
    private static func check(_ value: Value?, of text: String, _ type: ScalarType) throws {
        let written = try #require(ExactNumber(text))
        switch value {
        case .int(let number): #expect(ExactNumber(String(number)) == written, "\(text)")
        case .decimal(let number): #expect(ExactNumber("\(number)") == written, "\(text)")
        case .double(let number): #expect(number == Double(text) && written.isKept(as: number), "\(text)")
        case .float(let number): #expect(number == Float(text) && written.isKept(as: number), "\(text)")
        case nil:
            switch type {
            case .int: #expect(written.integer == nil, "\(text)")
            case .double:
                let nearest = try #require(Double(text))
                #expect(!nearest.isFinite || nearest.magnitude >= 0x1p53, "\(text)")
            case .float:
                let nearest = try #require(Float(text))
                #expect(!nearest.isFinite || nearest.magnitude >= 0x1p24, "\(text)")
            default: break
            }
        default: Issue.record("\(text) became \(value.map { "\($0)" } ?? "")")
        }
    }

    @Test(arguments: [
        ("9007199254740993", false), ("9007199254740993.0", false), ("9.007199254740993e15", false),
        ("-9007199254740993", false), ("9007199254740993.5", false), ("123456789012345678901234567890", false),
        ("90071992547409930e-1", false), ("9007199254740992", true), ("9007199254740994", true),
        ("9007199254740991.4", true), ("1e23", true), ("6.022140760000000226e+23", true), ("0.1", true),
        ("18446744073709551616", true), ("1.7976931348623157e308", true), ("1e-400", true),
    ])
    func aDoubleTakesNoWholeNumberThatItWouldRound(text: String, isTaken: Bool) {
        #expect((Self.cell(text, .double) != nil) == isTaken)
        #expect((Self.written(text, .double) != nil) == isTaken)
    }

    @Test func whatADoubleAndAFloatPrintComesBack() throws {
        var random = SeededGenerator(seed: 3)
        for _ in 0..<20_000 {
            let double = Double(bitPattern: random.next())
            let float = Float(bitPattern: UInt32(truncatingIfNeeded: random.next()))
            let whole = Double(random.next() >> (random.next() & 15))
            for number in [double, whole] where number.isFinite {
                #expect(Self.cell(number.description, .double) == .double(number))
            }
            if float.isFinite { #expect(Self.cell(float.description, .float) == .float(float)) }
        }
    }

    @Test func aNumberThatWouldBeRoundedIsRefusedWithItsRowAndWhatWouldKeepIt() throws {
        let file = try TemporaryFile("id,v\n1,1.5\n2,9007199254740993\n")
        let source = try ImportFile(path: file.path, skipsBadRows: false)
        let request = ImportPlan.Request(
            className: "C", key: "id", links: [], types: [try TypeOption("v:double")])
        let plan = try ImportPlan(request, columns: try source.infer(), schema: Schema())
        let error = #expect(throws: CommandError.self) { try source.rows(plan).batch(upTo: 2) }
        #expect(
            error?.message == "\(file.path):3: column 'v': '9007199254740993' is not kept by a double, which has "
                + "9007199254740992.0 next to it; a decimal keeps all digits")
    }

    @Test(arguments: [
        (["1.5", "9007199254740993"], "decimal"), (["9007199254740993.5"], "decimal"),
        (["9007199254740993", "0.5", "NA"], "decimal?"), (["9007199254740993"], "int"),
        (["1.5", "9007199254740992"], "double"), (["1.5", "9.007199254740993e15"], "decimal"),
        (["1e23", "0.5"], "double"), (["9007199254740993", "1e300"], "string"),
        (["9007199254740993", "NaN"], "string"),
        (["1.5", "1e400"], "string"),
    ])
    func aColumnTakesTheTypeThatKeepsItsNumbers(cells: [String], type: String) throws {
        let lines = cells.map { cell in
            switch cell {
            case "NA": #"{"v":null}"#
            case "NaN": #"{"v":"NaN"}"#
            default: #"{"v":\#(cell)}"#
            }
        }
        for (text, suffix) in [
            ("v\n" + cells.joined(separator: "\n"), ".csv"), (lines.joined(separator: "\n"), ".jsonl"),
        ] {
            let file = try TemporaryFile(text + "\n", suffix: suffix)
            let source = try ImportFile(path: file.path, skipsBadRows: false)
            let plan = try ImportPlan(
                .init(className: "C", key: nil, links: []), columns: try source.infer(), schema: Schema())
            #expect(plan.classSchema.properties[0].type.description == type, "\(cells) in \(suffix)")
            #expect(plan.notes.count == (type.hasPrefix("decimal") ? 1 : 0))
            var count = 0
            let rows = try source.rows(plan)
            while case let batch = try rows.batch(upTo: 10), !batch.isEmpty { count += batch.count }
            #expect(count == cells.count)
        }
    }

    @Test func aKeyAndALinkAreReadAsNumbersToo() throws {
        let link = PropertyCodec(.link("N"), schema: Self.schema)
        for text in ["-0", "0.0", "0e5"] {
            #expect(try link.value(json: JSONParser.parse(text)) == .link(.int(0)))
            #expect(try Array(text.utf8).withUnsafeBufferPointer { try link.value(text: $0) } == .link(.int(0)))
            guard
                case .delete(.identity(let identity)) = try WriteRequestParser(schema: Self.schema)
                    .parse(#"{"op":"delete","class":"N","key":\#(text)}"#)
            else { throw CommandError.failure(text) }
            #expect(identity.key == .int(0))
        }
    }
}
