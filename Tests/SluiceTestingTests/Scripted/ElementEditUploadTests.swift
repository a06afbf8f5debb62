import Sluice
import SluiceModel
import SluiceWire
import Testing

/// A server gets what was done to sets and maps in the form that it reads.
struct ElementEditUploadTests {
    private static func box() throws -> ClassSchema {
        try ClassSchema(
            "Box", primaryKey: "id",
            properties: [
                Property("id", .scalar(.int)), Property("tags", PropertyType(.scalar(.string), container: .set)),
            ])
    }

    /// The changes of the tags that are uploaded of two transactions on a box with the tag a.
    private func uploads(
        _ features: Features, _ changes: [FieldOperation.Change]
    ) throws -> [FieldOperation.Change] {
        let session = try ScriptedSession(classes: [Self.box()])
        let box = ObjectRef(1, .int(1))
        session.greet(features: features)
        session.opened(.created)
        try session.engine.write { writer in
            try writer.insert(Row(key: .int(1), values: [.int(1), .set([.string("a")])]), ofClass: 1)
        }
        session.loseConnection()
        for change in changes {
            try session.engine.write { try $0.update(box, [FieldOperation(1, change)]) }
        }
        _ = session.actions()
        session.greet(features: features)
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

    @Test func editsTravelAsTheyAreWhereTheServerReadsThem() throws {
        let uploaded = try uploads([.resume, .creationRuns, .elementEdits], [edits, .clear])
        #expect(uploaded == [edits, .clear])
        // Without runs, operations are encoded anew.
        #expect(try uploads([.resume, .elementEdits], [edits]) == [edits])
    }

    @Test func aServerThatDoesNotNameTheFeatureGetsTheWholeCollectionAsItIsByThen() throws {
        let more = FieldOperation.Change.edit(ElementEdits(inserting: [.string("c")]))
        let whole = FieldOperation.Change.set(.set([.string("b"), .string("c")]))
        #expect(try uploads([.resume, .creationRuns], [edits, more]) == [whole, whole])
        #expect(try uploads([.resume, .creationRuns], [edits, .clear]) == [.set(.set([])), .set(.set([]))])
    }

    /// Two boxes, of which one has the tags that the class gives it.
    @Test(arguments: [true, false]) func aServerIsToldOfDefaultsWhereItReadsThem(knows: Bool) throws {
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
        session.greet(features: knows ? [.resume, .defaults] : [.resume])
        session.opened(.created)
        var uploaded: [FieldOperation.Change] = []
        for action in session.actions() {
            guard case .send(let frame) = action else { continue }
            for message in try Frame.decode(frame, as: ClientMessage.self) {
                guard case .upload(_, let changesets) = message else { continue }
                uploaded += changesets.flatMap(\.operations).flatMap(\.fields).map(\.change)
            }
        }
        let first: FieldOperation.Change = knows ? .setDefault(.set([])) : .set(.set([]))
        #expect(uploaded == [first, .set(.set([.string("a")])), .set(.set([]))])
    }

    /// Its default here would otherwise replace what the server has.
    @Test func aCollectionThatHasGoneFromTheStoreIsNotSet() {
        let operation = ObjectOperation(
            ObjectRef(1, .int(1)), .update([FieldOperation(1, edits), FieldOperation(2, .set(.int(4)))]))
        let row = Row(key: .int(1), values: [.int(1), .set([]), .int(4)], absent: [1])
        #expect(
            operation.settingCollections(of: row, for: [])
                == ObjectOperation(operation.object, .update([FieldOperation(2, .set(.int(4)))])))
    }
}
