import Testing

@Suite struct ModelDiagnosticTests {
    struct Case: Sendable, CustomTestStringConvertible {
        let source: String
        let message: String
        var fixed: String?

        var testDescription: String { source }
    }

    static let cases = [
        Case(
            source: "@Model class Car { var name = \"\" }",
            message: "1:1 @Model goes on a struct: objects are values that do not change under their reader",
            fixed: "@Model struct Car { var name = \"\" }"),
        Case(
            source: "@Model enum Car { case a }",
            message: "1:1 @Model goes on a struct: objects are values that do not change under their reader"),
        Case(
            source: "@Model struct Car<T> { var name = \"\" }",
            message: "1:18 a model cannot be generic: a store has one class a name"),
        Case(
            source: "@Model(name) struct Car { var name = \"\" }",
            message: "1:8 the class's name must be a plain string literal"),
        Case(
            source: "@Model struct Car {\n    var name = makeName()\n}",
            message: "2:9 'name' needs a type annotation: a macro sees the source, not the type of an expression",
            fixed: "@Model struct Car {\n    var name: <#Type#> = makeName()\n}"),
        Case(
            source: "@Model struct Car {\n    let wheels = 4\n}",
            message:
                "2:5 'wheels' is constant and always 4: it cannot be read from a row; use 'var', or make it static",
            fixed: "@Model struct Car {\n    var wheels = 4\n}"),
        Case(
            source: "@Model struct Car {\n    @PrimaryKey var vin: String?\n}",
            message: "2:26 a primary key cannot be optional",
            fixed: "@Model struct Car {\n    @PrimaryKey var vin: String\n}"),
        Case(
            source: "@Model struct Car {\n    @PrimaryKey var price: Double\n}",
            message: "2:28 a primary key is an integer, a String or a UUID, and 'price' is Double"),
        Case(
            source: "@Model struct Car {\n    @PrimaryKey var vin: String\n    @PrimaryKey var id: Int\n}",
            message: "3:5 Car already has the primary key 'vin'; a class has one at most"),
        Case(
            source: "@Model struct Car {\n    @Property(\"a\") var b = 1\n    var a = 2\n}",
            message: "3:9 Car has two properties named 'a'"),
        Case(
            source: "@Model struct Car {\n    lazy var a = 2\n}",
            message: "2:5 a model's property cannot be lazy: a value is read whole from its row"),
        Case(
            source: "@Model struct Car {\n    var (a, b) = (1, 2)\n}",
            message: "2:9 a model's properties are declared one by one, not as a tuple"),
        Case(
            source: "@Model struct Car {\n    @Ignored var cache: [Int]\n}",
            message: "2:18 'cache' is @Ignored and needs an initial value: nothing in the store supplies one"),
        Case(
            source: "@Model struct Car {\n    @Ignored @PrimaryKey var vin: String = \"\"\n}",
            message: "2:14 the primary key cannot be @Ignored"),
        Case(
            source: "@Model struct Car {\n    @Indexed var twice: Int { 2 }\n}",
            message: "2:5 @Indexed belongs on a stored property of a model"),
    ]

    @Test(arguments: cases) func aMistakeIsReportedWhereItIs(_ mistake: Case) {
        let expansion = MacroExpansion(mistake.source)
        #expect(expansion.messages == [mistake.message])
        #expect(expansion.fixed == mistake.fixed)
        #expect(expansion.source.contains("extension Car") == mistake.message.contains("@Indexed"))
    }

    @Test(arguments: [
        ("(Int, Int)", "tuples are not values of a store"),
        ("() -> Void", "functions are not values of a store; mark it @Ignored"),
        ("[String]?", "a collection cannot be optional; it can be empty"),
        ("[[Int]]", "a collection holds scalars or links, not collections"),
        ("[Int: String]", "a dictionary's keys are Strings"),
        ("[String: [Int]]", "a collection holds scalars or links, not collections"),
        ("any Sendable", "its type must be concrete"),
        ("UInt64", "UInt64 exceeds the store's 64-bit signed integers; use Int64 or UInt32"),
    ]) func aTypeThatCannotBeStoredIsReportedAtTheType(type: String, reason: String) {
        let expansion = MacroExpansion("@Model struct Car {\n    var x: \(type)\n}")
        #expect(expansion.messages == ["2:12 'x' cannot be stored: \(reason)"])
    }

    @Test func everyMistakeOfADeclarationIsReported() {
        let expansion = MacroExpansion("@Model struct Car {\n    let a = 1\n    var b = f()\n    var c: UInt = 0\n}")
        #expect(expansion.messages.count == 3)
    }
}
