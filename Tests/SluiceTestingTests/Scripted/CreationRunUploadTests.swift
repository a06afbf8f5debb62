import Sluice
import SluiceModel
import SluiceStorage
import SluiceWire
import TestSupport
import Testing

/// A server gets creations in the form that it reads.
struct CreationRunUploadTests {
    private func upload(_ features: Features, isWrittenBefore: Bool) throws -> (
        frame: [UInt8], changeset: Changeset
    ) {
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
        session.greet(features: features)
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

    @Test(arguments: [true, false]) func creationsTravelByColumnWhereTheServerReadsThem(
        isWrittenBefore: Bool
    ) throws {
        let together = try upload([.creationRuns], isWrittenBefore: isWrittenBefore)
        let plain = try upload([], isWrittenBefore: isWrittenBefore)
        #expect(together.changeset.operations == plain.changeset.operations)
        #expect(together.changeset.operations.count == 100)
        #expect(together.frame.count * 3 < plain.frame.count)
    }

    @Test func aServerThatDoesNotNameTheFeatureGetsNoRun() throws {
        let plain = try upload([.resume, .reports], isWrittenBefore: false)
        let frame = Frame.plainUpload(plain.changeset)
        #expect(plain.frame == frame)
    }
}

extension Frame {
    /// A frame with an upload in the form that every server reads.
    fileprivate static func plainUpload(_ changeset: Changeset) -> [UInt8] {
        var builder = FrameBuilder()
        builder.appendUpload(session: 1, [changeset.plainBytes()])
        return builder.finish()
    }
}
