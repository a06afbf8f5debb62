import SluiceModel
import Testing

@testable import SluiceWire

/// What jobs of clients are answered, and what a server stores of them.
struct JobFormTests {
    private static let schema = try! Schema([
        ClassSchema(
            "Flight", primaryKey: "id", properties: [Property("id", .scalar(.int)), Property("gate", .scalar(.string))])
    ])

    private func row(_ number: Int64, _ generator: inout SampleGenerator) -> Row {
        Row(key: .int(number), version: generator.number(), values: [.int(number), .string(generator.text())])
    }

    @Test(arguments: 0..<50) func chunksAndRowsOfQueuesComeBack(seed: Int) throws {
        var generator = SampleGenerator(seed: UInt64(seed))
        var chunk = ConsumerChunk(
            generator.checkpoint(), schema: Self.schema, classIndex: 0, version: generator.number(),
            until: generator.number(), epoch: generator.number())
        chunk.end = generator.checkpoint()
        (chunk.isReset, chunk.isLast) = (generator.bool(), generator.bool())
        chunk.isOtherHistory = generator.bool()
        chunk.epochs = generator.many(upTo: 3) { Epoch(id: $0.number(), start: $0.number()) }
        chunk.items = (0..<Int64(generator.below(5))).map { number in
            generator.bool()
                ? .upsert(row(number, &generator))
                : .removal(.int(number), generator.pick([.deleted, .filter, .window, .permission]))
        }
        var writer = ByteWriter()
        chunk.encode(into: &writer)
        let again = try ByteReader.decode(writer.bytes) { reader throws(WireError) in
            try ConsumerChunk(from: &reader, schema: Self.schema)
        }
        #expect(again.end == chunk.end && again.begin == chunk.begin)
        #expect(again.isReset == chunk.isReset && again.isLast == chunk.isLast && again.isReading == chunk.isReading)
        #expect(again.isOtherHistory == chunk.isOtherHistory && again.epochs == chunk.epochs)
        #expect(again.version == chunk.version && again.until == chunk.until && again.epoch == chunk.epoch)
        #expect(again.items.map { "\($0)" } == chunk.items.map { "\($0)" })

        let record = JobRecord(generator.jobKey(), due: Timestamp(microseconds: generator.integer()), value: [1, 2])
        let rows = QueueRows(
            [
                QueueRow(row(1, &generator), claim: record, dead: nil),
                QueueRow(row(2, &generator), claim: nil, dead: record),
            ],
            after: generator.maybe { $0.number() }, isLast: generator.bool(), schema: Self.schema, classIndex: 0,
            at: Timestamp(microseconds: generator.integer()),
            nextDue: generator.maybe { Timestamp(microseconds: $0.integer()) },
            busyPartitions: ["a", generator.text()],
            epochs: generator.many(upTo: 3) { Epoch(id: $0.number(), start: $0.number()) })
        writer = ByteWriter()
        rows.encode(into: &writer)
        let found = try ByteReader.decode(writer.bytes) { reader throws(WireError) in
            try QueueRows(from: &reader, schema: Self.schema)
        }
        #expect(found.rows == rows.rows && found.now == rows.now && found.nextDue == rows.nextDue)
        #expect(found.busyPartitions == rows.busyPartitions && found.isLast == rows.isLast)
        #expect(found.precedingVersion == rows.precedingVersion && found.epochs == rows.epochs)
    }

    /// Whatever the bytes are, they are read or refused, and a row that does not fit its class is refused.
    @Test(arguments: 0..<50) func answersThatAreDamagedAreRefused(seed: Int) throws {
        var generator = SampleGenerator(seed: UInt64(seed))
        var chunk = ConsumerChunk(
            generator.checkpoint(), schema: Self.schema, classIndex: 0, version: 1, until: 1, epoch: 1)
        chunk.items = [.upsert(Row(key: .int(1), version: 1, values: [.int(1)]))]
        var writer = ByteWriter()
        chunk.encode(into: &writer)
        #expect(throws: WireError.self) {
            try ByteReader.decode(writer.bytes) { reader throws(WireError) in
                try ConsumerChunk(from: &reader, schema: Self.schema)
            }
        }
        chunk.items = [.upsert(row(1, &generator)), .removal(.int(2), .deleted)]
        writer = ByteWriter()
        chunk.encode(into: &writer)
        for _ in 0..<200 {
            var bytes = writer.bytes
            for _ in 0...generator.below(3) { bytes[generator.below(bytes.count)] = UInt8(generator.below(256)) }
            bytes.removeLast(generator.below(3))
            _ = try? ByteReader.decode(bytes) { reader throws(WireError) in
                try ConsumerChunk(from: &reader, schema: Self.schema)
            }
            _ = try? ClientMessage.JobCall.Question(wireBytes: bytes)
            _ = try? JobWrite(wireBytes: bytes)
        }
    }

    @Test func aClientChangesOnlyRecordsOfConsumersAndQueues() {
        let state = ConsumerState(holder: 1, query: "Flight").wireBytes()
        let claim = QueueClaim(holder: 1, attemptCount: 1).wireBytes()
        let name = DeadLetterRecord.name(of: "Flight", .int(1))
        func problem(_ space: String, _ value: [UInt8], name: [UInt8] = []) -> String? {
            JobSpace.problem(with: JobWrite(.init(space: space, name: name), .set(.never, value: value)))
        }
        #expect(problem("consumer/alerts", state) == nil)
        #expect(problem("queue/mail", claim, name: name) == nil)
        #expect(problem("schedule/sweep", state)?.contains("is no space") == true)
        #expect(problem("consumer/", state)?.contains("does not name a job") == true)
        #expect(problem("consumer/a/b", state)?.contains("does not name a job") == true)
        #expect(problem("consumer/alerts", claim + [1])?.contains("cannot be read") == true)
        #expect(problem("queue-dead/mail", claim)?.contains("cannot be read") == true)
        #expect(
            problem("consumer/alerts", [UInt8](repeating: 1, count: JobRecord.byteCountMax + 1))?.contains("at most")
                == true)
        #expect(JobSpace.problem(with: JobWrite(.init(space: "consumer/alerts"), .remove)) == nil)
    }

    /// A checkpoint and the state of a consumer that an earlier build has stored.
    @Test func `what an earlier form has kept is read`() throws {
        var generator = SampleGenerator(seed: 3)
        let checkpoint = Checkpoint(
            databaseID: generator.id(), epoch: 7, query: generator.id(),
            place: .changes(after: 9, until: 12, key: .int(1), read: []))
        // The first form had no rights behind the query's hash.
        var former = checkpoint.wireBytes()
        former[0] = 1
        former.removeSubrange(41..<57)
        #expect(try Checkpoint(wireBytes: former) == checkpoint)
        var state = ConsumerState(holder: 5, query: "Flight")
        (state.handledCount, state.committedAt) = (12, Timestamp(microseconds: 99))
        // Neither the first form nor the second had the progress, and the first no trial.
        for (format, missing) in [(2 as UInt8, 2), (1, 3)] {
            var bytes = state.wireBytes()
            bytes[0] = format
            bytes.removeLast(missing)
            #expect(try ConsumerState(wireBytes: bytes) == state)
        }
        state.trial = ConsumerTrial(limit: 8, failureCount: 1)
        (state.done, state.known) = (3, 500)
        #expect(try ConsumerState(wireBytes: state.wireBytes()) == state)
    }

    @Test(arguments: 0..<200) func `the version as of which each key was read is raised up to a key`(seed: Int) {
        var generator = SampleGenerator(seed: UInt64(seed))
        var read: [Checkpoint.Stretch] = []
        var end: Int64 = 0
        for _ in 0...generator.below(6) {
            end += Int64(1 + generator.below(5))
            read.append(through: .int(end), version: UInt64(1 + generator.below(6)))
        }
        let key = Int64(1 + generator.below(Int(end)))
        let version = UInt64(1 + generator.below(8))
        var raised = read
        raised.raise(through: .int(key), to: version)
        for number in 1...end {
            let before = read.version(of: .int(number))
            #expect(raised.version(of: .int(number)) == (number <= key ? max(before, version) : before), "\(number)")
        }
        #expect(zip(raised, raised.dropFirst()).allSatisfy { $0.version != $1.version })
        #expect(raised.last?.key == .int(end))
    }

    @Test func `a version belongs to the last epoch that began before it`() {
        let epochs = [(11, 0), (22, 5), (33, 5), (44, 9)].map { Epoch(id: $0, start: $1) }
        let ids = (0...11).map { epochs.epoch(ofVersion: UInt64($0)) }
        #expect(ids == [0, 11, 11, 11, 11, 11, 33, 33, 33, 33, 44, 44])
        for versions: [UInt64] in [[1, 2], [6], [3, 10], [11], []] {
            let some = epochs.covering(versions)
            for version in versions { #expect(some.epoch(ofVersion: version) == epochs.epoch(ofVersion: version)) }
        }
    }
}
