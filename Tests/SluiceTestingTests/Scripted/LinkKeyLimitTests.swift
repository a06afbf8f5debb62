import Sluice
import SluiceModel
import Testing

/// Links to objects with long keys. A writer looks for them in the properties that lead to other objects.
struct LinkKeyLimitTests {
    private static let note = 2

    /// A note, in a class that has a link and a list of links behind other properties.
    private func row(tag: Value = .null, tags: [Value] = []) -> Row {
        Row(key: .int(1), values: [.int(1), .string("a text that is longer than a key"), tag, .list(tags)])
    }

    private func client() throws -> ScriptedSession {
        let tag = try ClassSchema("Tag", primaryKey: "name", properties: [Property("name", .scalar(.string))])
        let note = try ClassSchema(
            "Note", primaryKey: "id",
            properties: [
                Property("id", .scalar(.int)), Property("text", .scalar(.string)), Property("tag", .link("Tag")),
                Property("tags", .links("Tag")),
            ])
        return try ScriptedSession(classes: [tag, note]) { $0.dataLimits.keyByteCount = 10 }
    }

    @Test(arguments: [true, false], [10, 11])
    func aKeyAboveTheLimitIsRefusedHoweverALinkIsWritten(isList: Bool, length: Int) throws {
        let link = Value.link(.string(String(repeating: "k", count: length)))
        let row = isList ? row(tags: [link]) : row(tag: link)
        let ways: [(String, (LocalWriter) throws -> Void)] = [
            ("insert", { try $0.insert(row, ofClass: Self.note) }),
            ("upsert", { try $0.upsert(row, ofClass: Self.note, present: PropertySet(all: 4)) }),
            (
                "update",
                {
                    try $0.insert(self.row(), ofClass: Self.note)
                    let change = FieldOperation(isList ? 3 : 2, .set(isList ? .list([link]) : link))
                    try $0.update(ObjectRef(Self.note, .int(1)), [change])
                }
            ),
        ]
        for (way, write) in ways {
            let client = try client()
            var code: StoreError.Code?
            do { try client.engine.write(write) } catch let error as StoreError { code = error.code }
            #expect(code == (length > 10 ? .keyTooLong : nil), "\(way)")
        }
    }
}
