import CAllocationCounter
import Sluice
import SluiceModel
import SluiceStorage
import SluiceTesting
import SluiceWire
import TestSupport
import Testing

/// A client with many edits of one list, which no subscription has and its server acknowledges part by part.
@Suite(.ownThread) struct ListBacklogTests {
    private static let sheet = ObjectRef(1, .int(1))
    private static let ids = ObjectIDGenerator(origin: 7)

    /// A client that has written a sheet of lines, and nothing is acknowledged.
    private static func session(lineCount: Int) throws -> ScriptedSession {
        let lines = PropertyType(.scalar(.int), container: .list)
        let server = try ScriptedSession(classes: [
            ClassSchema(
                "Sheet", primaryKey: "id",
                properties: [
                    Property("id", .scalar(.int)), Property("edits", .scalar(.int)), Property("lines", lines),
                ])
        ])
        server.open()
        let values = (0..<lineCount).map { Value.int(Int64($0)) }
        try server.engine.write {
            try $0.insert(Row(key: .int(1), values: [.int(1), .int(0), .list(values)]), ofClass: 1)
        }
        return server
    }

    /// Edits the list anywhere and counts that, or deletes the sheet and writes it anew.
    private static func write(_ number: Int, _ server: ScriptedSession, _ generator: inout SeededGenerator) throws {
        try server.engine.write { writer in
            guard let row = try writer.row(sheet) else {
                let values = [Value.int(1), .int(0), .list([.int(1), .int(2)])]
                return try writer.insert(Row(key: .int(1), values: values), ofClass: 1)
            }
            guard let list = row.list(of: 2), !list.isEmpty else {
                return try writer.update(sheet, [FieldOperation(2, .set(.list([.int(3)])))])
            }
            let author = ListEdits.Author(origin: 7, time: Int64(number), ids: ids)
            let position = Int.random(in: 0..<list.count, using: &generator)
            let other = Int.random(in: 0..<list.count, using: &generator)
            let value = Value.int(Int64(-number))
            var edits: ListEdits?
            switch Int.random(in: 0..<16, using: &generator) {
            case 0: return try writer.delete(sheet)
            case 1: return try writer.update(sheet, [FieldOperation(2, .set(.list([value])))])
            case 2..<8: edits = .inserting([value], at: position, in: list, by: author)
            case 8..<10: edits = .erasing(position..<position + 1, in: list)
            case 10..<13: edits = .setting(position, to: value, in: list)
            default: edits = .moving(from: position, to: other, in: list, by: author)
            }
            guard let edits, !edits.isEmpty else { return }
            try writer.update(sheet, [FieldOperation(2, .editList(edits)), FieldOperation(1, .add(.int(1)))])
        }
    }

    /// Has the server acknowledge everything up to a transaction at once.
    private static func acknowledge(_ sequence: UInt64, _ server: ScriptedSession) {
        let header = CommitHeader(
            session: 1, version: 3 + sequence, acceptedAt: ScriptedSession.now, acknowledged: sequence,
            isContinued: false)
        server.receive([.commit(.init(header, blocks: []))])
        server.engine.handle(.storePostponed)
    }

    @Test(arguments: 0..<20) func theImageThatIsKeptHasWhatIsAcknowledged(seed: Int) throws {
        var generator = SeededGenerator(seed: UInt64(seed))
        let server = try Self.session(lineCount: 20)
        var shown = [nil, try server.storage.row(Self.sheet)]
        for number in 1...60 {
            let sequence = server.storage.lastSequence
            try Self.write(number, server, &generator)
            if server.storage.lastSequence > sequence { shown.append(try server.storage.row(Self.sheet)) }
        }
        #expect(server.storage.lastSequence == UInt64(shown.count - 1))
        var acknowledged = 0
        while acknowledged < shown.count - 2 {
            acknowledged = min(acknowledged + Int.random(in: 1...12, using: &generator), shown.count - 2)
            Self.acknowledge(UInt64(acknowledged), server)
            var image: Row?
            if case .row(let row)? = try server.storage.baseImage(of: Self.sheet) { image = row }
            #expect(image?.values == shown[acknowledged]?.values)
            #expect(image?.list(of: 2) == shown[acknowledged]?.list(of: 2), "elements, with ids and places")
        }
        Self.acknowledge(UInt64(shown.count - 1), server)
        #expect(try server.storage.baseImage(of: Self.sheet) == nil && server.storage.outboxCount == 0)
    }

    /// How many bytes are allocated while edits of a list are acknowledged, all but the last.
    private static func byteCount(edits count: Int) throws -> Int {
        let server = try session(lineCount: 1_000)
        for number in 0...count {
            try server.engine.write { writer in
                let list = try #require(try writer.row(sheet)?.list(of: 2))
                let edits = ListEdits.setting(number, to: .int(Int64(-number)), in: list)
                try writer.update(sheet, [FieldOperation(2, .editList(edits))])
            }
        }
        let before = allocated_byte_count()
        acknowledge(server.storage.lastSequence - 1, server)
        #expect(server.storage.outboxCount == 1)
        return allocated_byte_count() - before
    }

    @Test func moreEditsInAnAcknowledgementDoNotCopyTheListMoreOften() throws {
        let (few, many) = (try Self.byteCount(edits: 50), try Self.byteCount(edits: 250))
        #expect(many - few < 200 * 10_000, "\(few) bytes for 50 edits of 1,000 lines, \(many) for 250")
    }
}
