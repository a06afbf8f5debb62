import SluiceModel
import SluiceServer
import Testing

struct OperationCheckTests {
    static func check() throws -> OperationCheck {
        OperationCheck(
            schema: try Schema([
                ClassSchema(
                    "Plane", primaryKey: "id",
                    properties: [
                        Property("id", .scalar(.int)), Property("seats", .scalar(.int)),
                        Property("name", .scalar(.string)), Property("next", .link("Plane")),
                        Property("fleet", .links("Plane")),
                        Property("near", PropertyType(.link("Plane"), container: .set)),
                        Property("marks", PropertyType(.scalar(.int), container: .map)),
                    ])
            ]))
    }

    @Test(
        arguments: [
            (ObjectRef(1, .int(1)), nil, "there is no class 1; the schema has 1"),
            (ObjectRef(-1, .int(1)), nil, "there is no class -1; the schema has 1"),
            (ObjectRef(0, .string("a")), nil, "Plane names its objects by int, not by the kind of key given"),
            (ObjectRef(0, .int(1)), FieldOperation(7, .set(.null)), "Plane has no property 7; it has 7"),
            (ObjectRef(0, .int(1)), FieldOperation(1, .clear), "Plane.seats is int, and cannot be emptied"),
            (
                ObjectRef(0, .int(1)), FieldOperation(6, .edit(ElementEdits(inserting: [.int(1)]))),
                "Plane.marks is [string: int], and the value is set"
            ),
            (
                ObjectRef(0, .int(1)), FieldOperation(1, .edit(ElementEdits(setting: [], erasing: ["a"]))),
                "Plane.seats is int, and the value is map"
            ),
            (
                ObjectRef(0, .int(1)), FieldOperation(5, .edit(ElementEdits(inserting: [], erasing: [.int(1)]))),
                "Plane.near is Set<Plane>, and the value is set"
            ),
            (
                ObjectRef(0, .int(1)),
                FieldOperation(5, .edit(ElementEdits(inserting: [], erasing: [.link(.string("a"))]))),
                "Plane.near holds a link whose key is not of the kind that Plane has"
            ),
            (
                ObjectRef(0, .int(1)), FieldOperation(1, .set(.string("a"))),
                "Plane.seats is int, and the value is string"
            ),
            (ObjectRef(0, .int(1)), FieldOperation(1, .set(.null)), "Plane.seats is int, and the value is null"),
            (
                ObjectRef(0, .int(1)), FieldOperation(0, .set(.int(2))),
                "Plane.id is the primary key and cannot differ from the object's key"
            ),
            (
                ObjectRef(0, .int(1)), FieldOperation(3, .set(.link(.string("a")))),
                "Plane.next holds a link whose key is not of the kind that Plane has"
            ),
            (
                ObjectRef(0, .int(1)), FieldOperation(4, .set(.list([.link(.int(1)), .link(.string("a"))]))),
                "Plane.fleet holds a link whose key is not of the kind that Plane has"
            ),
            (
                ObjectRef(0, .int(1)), FieldOperation(2, .add(.string("a"))),
                "Plane.name is string, and string cannot be added to it"
            ),
            (
                ObjectRef(0, .int(1)), FieldOperation(1, .add(.double(1))),
                "Plane.seats is int, and double cannot be added to it"
            ),
        ] as [(ObjectRef, FieldOperation?, String)])
    func aBadOperationIsDescribedInWords(object: ObjectRef, field: FieldOperation?, problem: String) throws {
        let operation = ObjectOperation(object, .update(field.map { [$0] } ?? []))
        #expect(try Self.check().problem(with: operation) == problem)
    }

    @Test func goodOperationsHaveNoProblem() throws {
        let fields = [
            FieldOperation(0, .set(.int(1))), FieldOperation(1, .add(.int(1))), FieldOperation(3, .set(.null)),
            FieldOperation(4, .set(.list([.link(.int(2))]))),
        ]
        let check = try Self.check()
        for action in [ObjectOperation.Action.create(fields), .update(fields), .delete] {
            #expect(check.problem(with: ObjectOperation(ObjectRef(0, .int(1)), action)) == nil)
        }
    }
}
