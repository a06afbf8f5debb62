import SluiceModel
import SluiceStorage
import SluiceWire
import Testing

@testable import SluiceServer

/// A database with room for small uploads and none for a large one.
struct NearlyFullDiskTests {
    /// A client that uploads planes with long notes.
    private struct Client {
        let bench: FileBench
        var id: SessionID
        private var sequence: UInt64 = 0
        private var identity: ClientIdentity?

        init(_ bench: FileBench) throws {
            self.bench = bench
            id = SessionID(connection: 0, session: 0)
            try open()
        }

        private mutating func open() throws {
            let (id, answers) = try bench.open(identity: identity)
            self.id = id
            for case .opened(let opened) in answers { identity = opened.identity }
        }

        /// Uploads planes, the first with a number, in the session that is open or a new one.
        ///
        /// - Returns: whether they were stored.
        mutating func upload(_ count: Int64, from first: Int64, again: Bool = false) throws -> Bool {
            if again {
                _ = try bench.handle([.closed(id)])
                try open()
            } else {
                sequence += 1
            }
            let operations = (first..<first + count).map { number in
                ObjectOperation(
                    ObjectRef(0, .int(number)), .create([FieldOperation(2, .set(.string(FileBench.note(number))))]))
            }
            let upload = ClientMessage.upload(session: 1, changesets: [bench.changeset(sequence, operations)])
            let answers = try bench.handle([.messages(id, [upload])])
            return answers.contains {
                if case .commit(let commit) = $0 { commit.header.acknowledged != nil } else { false }
            }
        }
    }

    @Test func smallUploadsAreStoredAndALargeOneDoesNotComeAgainWithEachOfThem() throws {
        try withDamageFolder { folder in
            let bench = try FileBench(folder + "/db")
            var small = try Client(bench)
            #expect(try small.upload(100, from: 0))
            try bench.storage.limitFile(to: 400_000)
            var large = try Client(bench)
            #expect(try !large.upload(20_000, from: 100_000))
            // The first that is stored shows that there may be room, and the large one comes again, once.
            #expect(try small.upload(1, from: 1_000))
            #expect(bench.log.count(of: "a database can be written again") == 1)
            #expect(try !large.upload(20_000, from: 100_000, again: true))
            for number in 0..<50 as Range<Int64> { #expect(try small.upload(1, from: 2_000 + number)) }
            #expect(bench.log.count(of: "a database can be written again") == 1)
            #expect(bench.log.count(of: "a database cannot be written") == 2)
            // It is called back when the next look is due, and stored once there is room.
            try bench.storage.limitFile(to: nil)
            for _ in 0..<2 { _ = bench.engine.checkFile() }
            #expect(bench.log.count(of: "a database can be written again") == 2)
            #expect(try large.upload(20_000, from: 100_000, again: true))
        }
    }
}
