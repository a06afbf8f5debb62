import Foundation
import SluiceModel
import SluiceQuery
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

    // MARK: Rows of a queue

    private static func open(_ body: (FileBench) throws -> Void) throws {
        try withDamageFolder { folder in
            let path = folder + "/db"
            try FileBench.whole.get().write(to: URL(filePath: path))
            try body(FileBench(path))
        }
    }

    /// The pages of a queue's rows, and the steps of work that they take.
    private func pages(
        of query: Query, _ countMax: Int, in storage: SQLiteServerStorage
    ) throws -> (rows: [Row], stepCount: Int) {
        let limit = WorkLimit(stepCountMax: .max, interval: 20)
        var rows: [Row] = []
        try storage.withWorkLimit(limit) {
            while true {
                let found = try storage.rows(of: query, after: rows.last?.key, countMax: countMax)
                #expect(found.rows.count <= countMax)
                #expect((found.precedingVersion == nil) == rows.isEmpty)
                rows += found.rows
                if found.isLast { break }
            }
        }
        return (rows, limit.stepCount)
    }

    @Test(arguments: [
        "Plane", "Plane WHERE seats > 5", "Plane SORT(id DESC)", "Plane SORT(seats ASC)",
        "Plane SORT(seats DESC, note ASC)",
        "Plane SORT(home.id DESC)", "Plane SORT(seats ASC) LIMIT(70)", "Plane SORT(seats ASC) DISTINCT(seats)",
        "Plane WHERE seats == 99",
    ])
    func pagesOfAQueueAreItsRowsInTheirOrder(text: String) throws {
        try Self.open { bench in
            let query = try Query.parse(text, schema: FileBench.schema())
            let expected =
                query.isListed
                ? try bench.storage.refs(matching: query).map(\.key)
                : try bench.storage.rows(matching: query, afterKey: nil, limit: .max, byteCountMax: .max).map(\.key)
            for countMax in [1, 7, 64, 1_000] {
                #expect(try pages(of: query, countMax, in: bench.storage).rows.map(\.key) == expected, "\(countMax)")
            }
        }
    }

    /// Twenty pages are hardly more work than one.
    @Test(arguments: ["Plane", "Plane SORT(id ASC)", "Plane SORT(id DESC)", "Plane SORT(note ASC)"])
    func pagesOfAQueueAreReadOnce(text: String) throws {
        try Self.open { bench in
            let query = try Query.parse(text, schema: FileBench.schema())
            let whole = try pages(of: query, 1_000, in: bench.storage)
            let parts = try pages(of: query, 20, in: bench.storage)
            #expect(parts.rows.count == Int(FileBench.planeCount))
            #expect(parts.stepCount < 2 * whole.stepCount + 4_000, "\(parts.stepCount) and \(whole.stepCount)")
        }
    }

    @Test func aRowThatIsGoneOrChangedIsToldOf() throws {
        try Self.open { bench in
            let (schema, storage) = (try FileBench.schema(), bench.storage)
            func rows(_ text: String, after key: Int64?) throws -> FoundRows {
                try storage.rows(
                    of: Query.parse(text, schema: schema), after: key.map { .int($0) }, countMax: 2)
            }
            func keys(_ found: FoundRows) -> [ObjectKey] { found.rows.map(\.key) }
            // Without an order the place of a key is known although nothing is there.
            let unsorted = try rows("Plane WHERE id != 10", after: 10)
            #expect(keys(unsorted) == [.int(11), .int(12)] && unsorted.precedingVersion == 0)
            let version = try #require(try storage.row(ObjectRef(0, .int(10)))).version
            let sorted = try rows("Plane SORT(id DESC)", after: 10)
            #expect(keys(sorted) == [.int(9), .int(8)] && sorted.precedingVersion == version)
            // A row that is no result any more still has a place.
            #expect(keys(try rows("Plane WHERE id != 10 SORT(id DESC)", after: 10)) == [.int(9), .int(8)])
            let gone = try rows("Plane SORT(id DESC)", after: 401)
            #expect(keys(gone) == [.int(400), .int(399)] && gone.precedingVersion == nil && !gone.isLast)
            let limited = try rows("Plane SORT(id DESC) LIMIT(3)", after: 10)
            #expect(keys(limited) == [.int(400), .int(399)] && limited.precedingVersion == nil)
        }
    }
}
