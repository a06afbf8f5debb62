import SluiceModel
import Testing

@testable import SluiceMacroExpansion

/// The macro and the schema both implement the rule of names: each must reject the same names.
struct NameRuleTests {
    /// Every name of up to three characters of the kinds that the rule distinguishes, and names with lengths around the
    /// limit.
    private static let names: [String] = {
        let characters = ["a", "Z", "0", "9", "_", "-", ".", " ", "é", "ß", "@", "[", "`", "{", "/", ":", "\u{0}"]
        var names = [""]
        var last = [""]
        for _ in 0..<3 {
            last = last.flatMap { start in characters.map { start + $0 } }
            names += last
        }
        return names + [62, 63, 64].map { String(repeating: "a", count: $0) }
            + [31, 32].map { String(repeating: "é", count: $0) }
    }()

    private func schemaAccepts(_ properties: [String], className: String = "Car") -> Bool {
        (try? Schema([ClassSchema(className, properties: properties.map { Property($0, .scalar(.int)) })])) != nil
    }

    @Test func macroAndSchemaRefuseTheSameNames() {
        for name in Self.names {
            #expect(NameRule.allows(name) == schemaAccepts([], className: name), "\(name)")
            #expect(NameRule.allows(name) == schemaAccepts([name]), "\(name)")
        }
        #expect(Self.names.contains(where: NameRule.allows))
    }

    @Test(arguments: [("a", "a"), ("a", "A"), ("name", "nAme"), ("a", "b"), ("a", "_a"), ("Z", "z"), ("A1", "a1")])
    func macroAndSchemaRefuseTheSamePairsOfNames(first: String, second: String) {
        let expansion = MacroExpansion("@Model struct Car {\n    var \(first) = 1\n    var \(second) = 2\n}")
        #expect(expansion.messages.isEmpty == schemaAccepts([first, second]), "\(expansion.messages)")
    }

    @Test func macroAndSchemaHaveTheSameLimitOfProperties() {
        for count in [NameRule.propertyCountMax, NameRule.propertyCountMax + 1] {
            let names = (0..<count).map { "p\($0)" }
            let source = names.map { "    var \($0) = 1\n" }.joined()
            let expansion = MacroExpansion("@Model struct Car {\n\(source)}")
            #expect(schemaAccepts(names) == (count == NameRule.propertyCountMax))
            #expect(
                expansion.messages == (schemaAccepts(names) ? [] : ["502:9 Car has 501 properties; the limit is 500"]))
        }
    }

    private static let rule = "use 1 to 63 ASCII letters, digits and '_', not starting with a digit"

    @Test(arguments: [
        (
            "@Model struct Größe {\n    var a = 2\n}",
            "1:15 'Größe' cannot name a class: \(rule); @Model(\"name\") gives the class another name"
        ),
        (
            "@Model(\"my car\") struct Car {\n    var a = 2\n}",
            "1:8 'my car' cannot name a class: \(rule); @Model(\"name\") gives the class another name"
        ),
        (
            "@Model struct Car {\n    var größe = 2\n}",
            "2:9 'größe' cannot name a property: \(rule); @Property(\"name\") gives the property another name"
        ),
        (
            "@Model struct Car {\n    var `max speed` = 2\n}",
            "2:9 'max speed' cannot name a property: \(rule); @Property(\"name\") gives the property another name"
        ),
        (
            "@Model struct Car {\n    @Property(\"1st\") var a = 2\n}",
            "2:15 '1st' cannot name a property: \(rule); @Property(\"name\") gives the property another name"
        ),
        (
            "@Model struct Car {\n    @Property(\"\") var a = 2\n}",
            "2:15 '' cannot name a property: \(rule); @Property(\"name\") gives the property another name"
        ),
        (
            "@Model struct Car {\n    @Inverse(\\A.b) var größe: Backlinks<A>\n}",
            "2:24 'größe' cannot name a property of queries: \(rule)"
        ),
        (
            "@Model struct Car {\n    @Property(\"\\(x)\") var a = 2\n}",
            "2:15 the property's name must be a plain string literal"
        ),
        (
            "@Model struct Car {\n    @Property(was: \"1st\") var a = 2\n}",
            "2:20 '1st' cannot name a property before: \(rule)"
        ),
        (
            "@Model struct Car {\n    @Property(was: \"a\") var b = 1\n    var a = 2\n}",
            "2:20 'a' names 'a' too; a former name belongs to one property"
        ),
        (
            "@Model struct Car {\n    @Property(was: \"c\") var b = 1\n    @Property(was: \"c\") var a = 2\n}",
            "3:20 'c' names 'b' too; a former name belongs to one property"
        ),
        (
            "@Model struct Car {\n    @Property(was: \"a\") var a = 1\n}",
            "2:20 'a' is a name of 'a' already; remove it"
        ),
        (
            "@Model struct Car {\n    var name = 1\n    var Name = 2\n}",
            "3:9 Car has 'name' and 'Name', which differ only in case; rename one"
        ),
        (
            "@Model struct Car {\n    @Property(\"Owners\") var a = 1\n    @Inverse(\\A.b) var owners: Backlinks<A>\n}",
            "3:24 Car has 'Owners' and 'owners', which differ only in case; rename one"
        ),
        (
            "@Model struct Car {\n    var objectMetadata = 1\n}",
            "2:9 @Model adds a member 'objectMetadata' itself: rename it; @Property(\"objectMetadata\") keeps the name in "
                + "schemas and queries"
        ),
        (
            "@Model struct Car {\n    static let className = \"C\"\n    var a = 1\n}",
            "2:16 @Model adds a member 'className' itself: remove it; @Model(\"name\") names the class"
        ),
    ]) func aNameThatTheSchemaRefusesIsRefusedAtItsPlace(source: String, message: String) {
        #expect(MacroExpansion(source).messages == [message])
    }

    @Test(arguments: [
        "var `class` = 1", "var `default` = 1", "var count = 1", "var _ok = 1", "@Property(\"NOT\") var negated = 1",
        "@Ignored var größe = 1", "@Property(\"size\") var größe = 1", "static let größe = 1", "var größe: Int { 1 }",
        "var className = \"\"", "@Property(was: \"B\", \"c\") var b = 1",
    ]) func otherNamesAreAccepted(member: String) {
        let expansion = MacroExpansion("@Model struct `Type` {\n    var a = 1\n    \(member)\n}")
        #expect(expansion.messages == [])
        #expect(expansion.source.contains("\"Type\""))
    }
}
