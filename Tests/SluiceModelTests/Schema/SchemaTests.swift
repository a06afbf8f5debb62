import SluiceModel
import Testing

struct SchemaTests {
    /// The error that a class with these properties causes.
    static func error(
        _ name: String = "Plane", primaryKey: String? = nil, of properties: [Property]
    ) -> SchemaError? {
        do throws(SchemaError) {
            _ = try Schema([ClassSchema(name, primaryKey: primaryKey, properties: properties)])
            return nil
        } catch {
            return error
        }
    }

    @Test(arguments: ["", "1st", "a b", "a-b", "na\u{EF}ve", String(repeating: "a", count: 64)])
    func aMalformedNameIsRefusedForClassesAndProperties(name: String) {
        let rule = "use 1 to 63 ASCII letters, digits and '_', not starting with a digit"
        let ofClass = Self.error(name, of: [])
        #expect(ofClass?.code == .invalidName)
        #expect(ofClass?.message == "'\(name)' cannot name a class: \(rule)")
        let ofProperty = Self.error(of: [Property(name, .scalar(.int))])
        #expect(ofProperty?.code == .invalidName)
        #expect(ofProperty?.message == "'\(name)' cannot name a property: \(rule)")
    }

    @Test(arguments: ["a", "_", "A9_z", String(repeating: "a", count: 63)])
    func aWellFormedNameIsTaken(name: String) {
        #expect(Self.error(name, of: [Property(name, .scalar(.int))]) == nil)
    }

    @Test func repeatedNamesWrongDefaultsAndUnknownTargetsAreRefusedWithWords() {
        let twice = Self.error(of: [Property("a", .scalar(.int)), Property("a", .scalar(.int))])
        #expect(twice == SchemaError(.duplicateName, "Plane declares the property 'a' twice"))
        let badDefault = Self.error(of: [Property("a", .scalar(.int), default: .string("x"))])
        #expect(badDefault == SchemaError(.invalidDefault, "the default of Plane.a is not a value of its type, int"))
        let target = Self.error(of: [Property("owner", .link("User"))])
        #expect(target == SchemaError(.unknownClass, "Plane.owner links to 'User', which is not in the schema"))
        let itself = Self.error(of: [Property("next", .link("Plane"))])
        #expect(itself == nil)
    }

    @Test func aClassDeclaredTwiceIsRefused() throws {
        let declared = try ClassSchema("Plane", properties: [])
        let error = #expect(throws: SchemaError.self) { try Schema([declared, declared]) }
        #expect(error == SchemaError(.duplicateName, "the class 'Plane' is declared twice"))
    }

    @Test func namesThatDifferOnlyInCaseAreRefused() throws {
        #expect(
            Self.error(of: [
                Property("Name", .scalar(.int)), Property("name", PropertyType(.scalar(.int), container: .list)),
            ])
                == SchemaError(
                    .duplicateName, "Plane has the properties 'Name' and 'name', which differ only in case; rename one")
        )
        let classes = try [ClassSchema("Plane", properties: []), ClassSchema("PLANE", properties: [])]
        let error = #expect(throws: SchemaError.self) { try Schema(classes) }
        #expect(
            error
                == SchemaError(
                    .duplicateName,
                    "the schema has the classes 'Plane' and 'PLANE', which differ only in case; rename one"
                ))
    }

    @Test(arguments: [ScalarType.int, .string, .uuid])
    func anIntStringOrUuidCanBeAPrimaryKey(type: ScalarType) throws {
        let declared = try ClassSchema("Plane", primaryKey: "id", properties: [Property("id", .scalar(type))])
        #expect(declared.keyType == type)
        #expect(declared.primaryKeyIndex == 0)
    }

    @Test(arguments: [
        PropertyType.scalar(.double), .scalar(.int, isOptional: true), .link("Plane"),
        PropertyType(.scalar(.int), container: .list), .scalar(.objectID),
    ])
    func otherTypesCannotBeAPrimaryKey(type: PropertyType) {
        let error = Self.error(primaryKey: "id", of: [Property("id", type)])
        #expect(error?.code == .invalidPrimaryKey)
        #expect(
            error?.message
                == "Plane.id is \(type), and a primary key must be a non-optional int, string or uuid")
    }

    @Test func aPrimaryKeyMustBeAmongTheProperties() {
        #expect(
            Self.error(primaryKey: "id", of: [])
                == SchemaError(.invalidPrimaryKey, "Plane has no property 'id' to be its primary key"))
    }

    @Test func aClassBeyondTheLimitOfPropertiesIsRefusedOneAtItIsNot() {
        let properties = (0...Schema.propertyCountMax).map { Property("p\($0)", .scalar(.int)) }
        #expect(Self.error(of: Array(properties.dropLast())) == nil)
        let error = Self.error(of: properties)
        #expect(error == SchemaError(.limitExceeded, "the class Plane has 501 properties; at most 500 are allowed"))
    }
}
