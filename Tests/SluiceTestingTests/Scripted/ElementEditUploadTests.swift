import Sluice
import SluiceModel
import SluiceWire
import Testing

/// What was done to sets and maps is uploaded as it was done.
struct ElementEditUploadTests {
    private static func box() throws -> ClassSchema {
        try ClassSchema(
            "Box", primaryKey: "id",
            properties: [
                Property("id", .scalar(.int)), Property("tags", PropertyType(.scalar(.string), container: .set)),
            ])
    }

    /// The changes of the tags that are uploaded of two transactions on a box with the tag a.
    private func uploads(_ changes: [FieldOperation.Change]) throws -> [FieldOperation.Change] {
        let session = try ScriptedSession(classes: [Self.box()])
        let box = ObjectRef(1, .int(1))
        session.greet()
        session.opened(.created)
        try session.engine.write { writer in
            try writer.insert(Row(key: .int(1), values: [.int(1), .set([.string("a")])]), ofClass: 1)
        }
        session.loseConnection()
        for change in changes {
            try session.engine.write { try $0.update(box, [FieldOperation(1, change)]) }
        }
        _ = session.actions()
        session.greet()
        session.opened(.resumed, acknowledged: 1)
        var uploaded: [FieldOperation.Change] = []
        for action in session.actions() {
            guard case .send(let frame) = action else { continue }
            for message in try Frame.decode(frame, as: ClientMessage.self) {
                guard case .upload(_, let changesets) = message else { continue }
                uploaded += changesets.flatMap(\.operations).flatMap(\.fields).map(\.change)
            }
        }
        return uploaded
    }

    private let edits = FieldOperation.Change.edit(
        ElementEdits(inserting: [.string("b")], erasing: [.string("a")]))

    @Test func editsTravelAsTheyAre() throws {
        let uploaded = try uploads([edits, .clear])
        #expect(uploaded == [edits, .clear])
    }

    /// Two boxes, of which one has the tags that the class gives it.
    @Test func aServerIsToldOfDefaults() throws {
        let session = try ScriptedSession(classes: [Self.box()])
        try session.engine.write { writer in
            for (id, tags) in [(1, []), (2, ["a"])] as [(Int64, [String])] {
                let tags = Value.set(tags.map { .string($0) })
                try writer.insert(Row(key: .int(id), values: [.int(id), tags]), ofClass: 1)
            }
            // What is named is chosen, whatever it is.
            let row = Row(key: .int(3), values: [.int(3), .set([])])
            try writer.upsert(row, ofClass: 1, present: [0, 1])
        }
        session.greet()
        session.opened(.created)
        var uploaded: [FieldOperation.Change] = []
        for action in session.actions() {
            guard case .send(let frame) = action else { continue }
            for message in try Frame.decode(frame, as: ClientMessage.self) {
                guard case .upload(_, let changesets) = message else { continue }
                uploaded += changesets.flatMap(\.operations).flatMap(\.fields).map(\.change)
            }
        }
        #expect(uploaded == [.setDefault(.set([])), .set(.set([.string("a")])), .set(.set([]))])
    }
}
