import Sluice
import SluiceModel
import SluiceStorage
import SluiceWire
import TestSupport
import Testing

/// Creations are uploaded by column.
struct CreationRunUploadTests {
    private func upload(isWrittenBefore: Bool) throws -> (frame: [UInt8], changeset: Changeset) {
        let session = try ScriptedSession()
        func write() throws {
            try session.engine.write { writer in
                for id in 0..<100 as Range<Int64> {
                    try writer.insert(Row(key: .int(id), values: [.int(id), .int(30)]), ofClass: 0)
                }
            }
        }
        // What was written before the first session is queued as it begins.
        if isWrittenBefore { try write() }
        session.greet()
        session.opened(.created)
        if !isWrittenBefore { try write() }
        for action in session.actions() {
            guard case .send(let frame) = action else { continue }
            for message in try Frame.decode(frame, as: ClientMessage.self) {
                guard case .upload(_, let changesets) = message, let changeset = changesets.first else { continue }
                return (frame, changeset)
            }
        }
        Issue.record("nothing was uploaded")
        throw WireError(.malformed, "no upload", offset: 0)
    }

    @Test(arguments: [true, false]) func creationsTravelByColumn(isWrittenBefore: Bool) throws {
        let (frame, changeset) = try upload(isWrittenBefore: isWrittenBefore)
        #expect(changeset.creations?.count == 100)
        let byteCount = changeset.operations.reduce(0) { $0 + $1.wireBytes().count }
        #expect(frame.count * 3 < byteCount)
    }
}
