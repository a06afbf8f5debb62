import Foundation
import SluiceModel
import SluiceServer
import SluiceStorage
import SluiceWire
import Testing

/// What is read for clients' jobs beside the writer.
struct JobReadingTests {
    private func chunk(in answers: [ServerMessage]) throws -> ConsumerChunk? {
        let schema = try FileBench.schema()
        for case .report(_, _, let bytes) in answers {
            return try ByteReader.decode(bytes) { reader throws(WireError) in
                try ConsumerChunk(from: &reader, schema: schema)
            }
        }
        return nil
    }

    /// The question has its place in the turn before the commit, and is read after it: rows of a later version than the
    /// chunk says would come again with the changes.
    @Test func aChunkThatIsReadAfterACommitIsOfItsVersion() throws {
        try withDamageFolder { folder in
            let path = folder + "/db"
            try FileBench.whole.get().write(to: URL(filePath: path))
            let bench = try FileBench(path)
            let (job, _) = try bench.open()
            let (writer, _) = try bench.open()
            let before = bench.storage.version
            let call = ClientMessage.JobCall(
                session: 1, request: 1, question: .chunk(query: "Plane", after: nil, rowCountMax: 10_000))
            let update = ObjectOperation(
                ObjectRef(0, .int(1)), .update([FieldOperation(1, .set(.int(77)))]))
            let changeset = Changeset(
                sequence: 1, baseVersion: 0, timestamp: HybridTimestamp(microseconds: 1_000_000), operations: [update])
            let answers =
                try bench.handle([
                    .messages(job, [.job(call)]),
                    .messages(writer, [.upload(session: 1, changesets: [changeset])]),
                ]) + bench.finish()
            let chunk = try #require(try chunk(in: answers))
            #expect(chunk.version == before + 1 && bench.storage.version == before + 1)
            let rows = chunk.items.compactMap { item in if case .upsert(let row) = item { row } else { nil } }
            #expect(rows.count == Int(FileBench.planeCount))
            #expect(rows.allSatisfy { $0.version <= chunk.version })
            #expect(rows.first { $0.key == .int(1) }?.values[1] == .int(77))
        }
    }
}
