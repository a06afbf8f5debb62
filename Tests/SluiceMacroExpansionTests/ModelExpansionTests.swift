import Testing

@Suite struct ModelExpansionTests {
    @Test func anInverseRelationshipIsComputedAndTakesNoColumn() {
        let expansion = MacroExpansion(
            """
            @Model struct Person {
                var name: String
                @Inverse(\\Car.owners) var cars: Backlinks<Car>
            }
            """)
        #expect(expansion.messages.isEmpty)
        for line in [
            "get {", "Sluice.Backlinks(of: self, through: \\Car.owners)", "init(name: String) {",
            "model.inverse(\"cars\", \\.cars, through: \\Car.owners)",
        ] { #expect(expansion.source.contains(line), "\(line)") }
        #expect(!expansion.source.contains("model.property(\"cars\""))
    }

    @Test(arguments: [
        (
            "@Inverse(\\Car.owners) var cars = 1",
            "@Inverse belongs on a 'var' of a model with the type Backlinks<…> and without a value"
        ),
        (
            "@Inverse(owners) var cars: Backlinks<Car>",
            "@Inverse takes the property that links here, such as \\Car.owners, written as a key path"
        ),
    ]) func anInverseRelationshipThatCannotBeIsReported(declaration: String, message: String) {
        let expansion = MacroExpansion("@Model struct Person {\n    \(declaration)\n}")
        #expect(expansion.messages.contains { $0.hasSuffix(message) }, "\(expansion.messages)")
    }

    @Test func formerNamesGoIntoTheTable() {
        let expansion = MacroExpansion(
            """
            @Model struct Car {
                @PrimaryKey @Property(was: "vin") var number: String
                @Property("cost", was: "price", "amount") var money = 1.0
            }
            """)
        #expect(expansion.messages.isEmpty)
        for line in [
            "model.primaryKey(\"number\", \\.number, was: [\"vin\"])",
            "model.property(\"cost\", \\.money, default: 1.0, was: [\"price\", \"amount\"])",
        ] { #expect(expansion.source.contains(line), "\(line)") }
    }

    @Test func aStructBecomesAModel() {
        let expansion = MacroExpansion(
            """
            @Model public struct Car {
                @PrimaryKey public let vin: String
                public var name = "Toyota"
                @Indexed public private(set) var year: Int?
                var hidden = 1
                private var secret: String?
                @Ignored var cache = 1
                static let wheels = 4
                var label: String { vin }
            }
            """)
        #expect(expansion.messages.isEmpty)
        #expect(
            expansion.source == """
                public struct Car {
                    public let vin: String
                    public var name = "Toyota"
                    public private(set) var year: Int?
                    var hidden = 1
                    private var secret: String?
                    var cache = 1
                    static let wheels = 4
                    var label: String { vin }

                    nonisolated public static var className: Swift.String {
                        "Car"
                    }

                    nonisolated public static let modelDefinition: Sluice.ModelDefinition<Car> = Sluice.ModelDefinition(Car.self) { model in
                        model.primaryKey("vin", \\.vin)
                        model.property("name", \\.name, default: "Toyota")
                        model.property("year", \\.year, isIndexed: true)
                        model.property("hidden", \\.hidden, default: 1)
                        model.property("secret", \\.secret)
                    }

                    nonisolated public var objectMetadata: Sluice.ObjectMetadata {
                        get {
                            keyedMetadata.metadata
                        }
                        set {
                            keyedMetadata.metadata = newValue
                        }
                    }

                    nonisolated private var keyedMetadata: Sluice.KeyedMetadata = Sluice.KeyedMetadata()

                    nonisolated public init(vin: String, name: Swift.String = "Toyota", year: Int? = nil) {
                        self.vin = vin
                        self.name = name
                        self.year = year
                        self.secret = nil
                    }

                    nonisolated public init(from row: borrowing Sluice.RowDecoder) throws {
                        self.vin = try row.value(0)
                        self.name = try row.value(1)
                        self.year = try row.value(2)
                        self.hidden = try row.value(3)
                        self.secret = try row.value(4)
                        self.objectMetadata = row.metadata
                    }

                    nonisolated public func encode(to row: inout Sluice.RowEncoder) throws {
                        try row.set(0, self.vin)
                        try row.set(1, self.name)
                        try row.set(2, self.year)
                        try row.set(3, self.hidden)
                        try row.set(4, self.secret)
                    }
                }

                extension Car: Sluice.Model {
                }
                """)
    }

    @Test(arguments: [
        ("var a = -1", "a: Swift.Int = -1"),
        ("var a = 1.5", "a: Swift.Double = 1.5"),
        ("var a = true", "a: Swift.Bool = true"),
        ("var a = \"x\"", "a: Swift.String = \"x\""),
        ("var a = [1, 2]", "a: [Swift.Int] = [1, 2]"),
        ("var a = UUID()", "a: UUID = UUID()"),
        ("var a: [String] = []", "a: [String] = []"),
        ("var a, b: Int", "a: Int, b: Int"),
        ("var a: Link<Car>?", "a: Link<Car>? = nil"),
        ("var a: Int { didSet {} }", "a: Int"),
        ("var `class`: Int", "`class`: Int"),
    ]) func thePropertyIsAParameterOfItsTypeAndDefault(property: String, parameters: String) {
        let expansion = MacroExpansion("@Model struct Car {\n    \(property)\n}")
        #expect(expansion.messages.isEmpty)
        #expect(expansion.source.contains("nonisolated init(\(parameters)) {"))
    }

    @Test func aLessVisiblePropertyWithoutValueNarrowsTheInitializer() {
        let expansion = MacroExpansion("@Model public struct Car {\n    public var a = 1\n    var b: Int\n}")
        #expect(expansion.source.contains("nonisolated init(a: Swift.Int = 1, b: Int) {"))
        #expect(!expansion.source.contains("public init(a:"))
    }

    @Test func aStructWithItsOwnInitializerKeepsIt() {
        let expansion = MacroExpansion("@Model(\"Auto\") struct Car {\n    var a: Int\n    init() { a = 1 }\n}")
        #expect(!expansion.source.contains("init(a: Int)"))
        #expect(expansion.source.contains("var objectMetadata: Sluice.ObjectMetadata = Sluice.ObjectMetadata()"))
        #expect(expansion.source.contains("\"Auto\""))
    }
}
