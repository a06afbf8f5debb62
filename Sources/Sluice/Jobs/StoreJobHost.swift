internal import SluiceModel
internal import SluiceQuery
internal import SluiceWire

/// The database of a store's server, as jobs use it. What jobs read does not come into the store; what they write does,
/// and is uploaded like every write.
///
/// A question that loses its connection is asked again: none does more when it is asked twice.
struct StoreJobHost: JobHost {
    let hold: StoreHold

    private var core: StoreCore { hold.core }
    private var environment: StoreEnvironment { core.configuration.environment }

    var time: Timestamp { environment.now() }

    func sleep(until time: Timestamp) async {
        let wait = Duration.microseconds(max(0, time.microseconds - self.time.microseconds))
        let waiting = AsyncStream<Void>.makeStream()
        environment.schedule(wait) { waiting.continuation.finish() }
        for await _ in waiting.stream {}
    }

    func note(_ level: LogLevel, _ message: String, _ details: [(String, String)]) {
        core.functions.log?.about(.sync)(level, message, details)
    }

    /// How long to wait before the server is asked again that did not answer.
    private static let pause = Duration.seconds(1)

    func ring(_ bell: @escaping @Sendable () -> Void) -> @Sendable () -> Void {
        let task = Task { [self] in
            var version: UInt64 = 0
            while !Task.isCancelled {
                do {
                    version = try await ask(.wait(after: version)) { reader, _ throws(WireError) in
                        try reader.varint()
                    }
                } catch {
                    // Who waits asks for something, and is told why there is nothing.
                    if meaning(of: error) == .lasting { return bell() }
                    await sleep(until: time.advanced(by: Self.pause))
                }
                bell()
            }
        }
        return { task.cancel() }
    }

    func text(of query: @escaping JobQuery) async throws -> String { try text(query) }

    private func text(_ query: JobQuery) throws -> String { try query(core.schema).canonicalText }

    // MARK: Asking

    private func ask<Answer>(
        _ question: ClientMessage.JobCall.Question,
        _ decode: (inout ByteReader, Schema) throws(WireError) -> Answer
    ) async throws -> Answer { try await askOnceMore(question, decode).answer }

    /// - Returns: the answer, and whether the question was asked more than once.
    private func askOnceMore<Answer>(
        _ question: ClientMessage.JobCall.Question,
        _ decode: (inout ByteReader, Schema) throws(WireError) -> Answer
    ) async throws -> (answer: Answer, isRepeated: Bool) {
        var isRepeated = false
        while true {
            do {
                let (bytes, schema) = try await core.ask(question)
                let answer = try ByteReader.decode(bytes) { reader throws(WireError) in try decode(&reader, schema) }
                return (answer, isRepeated)
            } catch let error as SyncError where error.code == .unreachable {
                try Task.checkCancellation()
                isRepeated = true
            } catch let error as WireError {
                throw SyncError(.protocolViolation, "the server's answer to a job cannot be read: \(error.message)")
            }
        }
    }

    // MARK: Reading

    func chunk(
        after checkpoint: Checkpoint?, _ sizes: ChunkSizes, of query: @escaping JobQuery
    ) async throws -> ConsumerChunk {
        try await ask(.chunk(query: text(query), after: checkpoint, rowCountMax: UInt64(sizes.rowCountMax))) {
            reader, schema throws(WireError) in try ConsumerChunk(from: &reader, schema: schema)
        }
    }

    func count(of query: @escaping JobQuery) async throws -> Int {
        Int(clamping: try await ask(.count(query: text(query))) { reader, _ throws(WireError) in try reader.varint() })
    }

    func rows(
        _ count: Int, ofQueue name: String, _ query: @escaping JobQuery, withPartitions: Bool
    ) async throws -> QueueRows {
        try await ask(
            .queue(
                name: name, query: text(query), rowCountMax: UInt64(count), withPartitions: withPartitions)
        ) { reader, schema throws(WireError) in try QueueRows(from: &reader, schema: schema) }
    }

    func list(_ query: @escaping JobQuery) async throws -> [ObjectKey]? {
        try await ask(.list(query: text(query))) { reader, _ throws(WireError) in
            try reader.optional { reader throws(WireError) in
                try reader.array { reader throws(WireError) in try ObjectKey(from: &reader) }
            }
        }
    }

    func rows(_ keys: [ObjectKey], of query: @escaping JobQuery) async throws -> JobRows {
        try await ask(.rows(query: text(query), keys: keys)) { reader, schema throws(WireError) in
            try JobRows(from: &reader, schema: schema)
        }
    }

    // MARK: Records

    func record(_ key: JobRecord.Key) async throws -> JobRecord? {
        try await ask(.record(key)) { reader, _ throws(WireError) in
            try reader.optional { reader throws(WireError) in try JobRecord(from: &reader) }
        }
    }

    func records(ofSpace space: String) async throws -> [JobRecord] {
        var records: [JobRecord] = []
        while true {
            let found = try await ask(.records(space: space, after: records.last?.key.name)) {
                reader, _ throws(WireError) in
                try reader.array { reader throws(WireError) in try JobRecord(from: &reader) }
            }
            guard !found.isEmpty else { return records }
            records += found
        }
    }

    func spaces(withPrefix prefix: String) async throws -> [(name: String, count: Int)] {
        try await ask(.spaces(prefix: prefix)) { reader, _ throws(WireError) in
            try reader.array { reader throws(WireError) in
                (try reader.string(), Int(clamping: try reader.varint()))
            }
        }
    }

    func version() async throws -> UInt64 {
        try await ask(.wait(after: .max)) { reader, _ throws(WireError) in try reader.varint() }
    }

    func apply(_ writes: [JobWrite]) async throws -> [Bool] {
        var (made, isRepeated) = try await askOnceMore(.apply(writes)) { reader, _ throws(WireError) in
            try reader.array { reader throws(WireError) in try reader.bool() }
        }
        guard made.count == writes.count else {
            throw SyncError(
                .protocolViolation,
                "the server answers \(made.count) changes of records of jobs, and not \(writes.count)")
        }
        // The answer that was lost may have been that they were made.
        guard isRepeated else { return made }
        for index in made.indices where !made[index] {
            made[index] = try await record(writes[index].key)?.value == writes[index].value
        }
        return made
    }

    func write<Result: Sendable>(
        _ writes: [JobWrite], _ body: @escaping @Sendable (borrowing WriteTransaction) throws -> Result
    ) async throws -> Result {
        let (result, receipt) = try await Store(hold).write { transaction in
            transaction.writer.jobs = writes
            return (try body(transaction), transaction.receipt)
        }
        do { try await core.uploaded(receipt, timeout: nil) } catch let error as SyncError {
            switch error.code {
            case .jobConflict: throw JobWriteRefusal.moved
            case .jobUnfinished: throw JobWriteRefusal.unfinished
            default: throw error
            }
        }
        return result
    }

    func binding(of element: any ResultElement.Type, classIndex: Int, schema: Schema) throws -> ElementBinding {
        try core.binding(of: element, classIndex: classIndex, in: schema)
    }

    func meaning(of error: any Error) -> JobErrorMeaning {
        switch error {
        case let error as SyncError:
            switch error.code {
            case .stopped, .noServer, .notAuthenticated, .notPermitted, .unknownDatabase, .protocolViolation, .schema,
                .resetRequired, .unknownReport:
                .lasting
            case .unreachable, .timedOut: .outcomeUnknown
            default: .passing
            }
        case let error as StoreError: error.code == .closed ? .lasting : .passing
        case is CancellationError: .outcomeUnknown
        default: .passing
        }
    }
}

extension JobWrite {
    fileprivate var value: [UInt8]? { if case .set(_, let value) = change { value } else { nil } }
}
