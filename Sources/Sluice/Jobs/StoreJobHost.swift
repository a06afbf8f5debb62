package import SluiceModel
internal import SluiceQuery
internal import SluiceWire

/// The database of a store's server, as jobs use it. What jobs read does not come into the store; what they write does,
/// and is uploaded like every write.
///
/// A question that loses its connection, or that the server cannot answer at the moment, is asked again: none does more
/// when it is asked twice.
package struct StoreJobHost: JobHost {
    private let line: any JobLine

    package init(_ line: any JobLine) { self.line = line }

    package var time: Timestamp { line.time }

    package func sleep(until time: Timestamp) async { await line.sleep(until: time) }

    package func note(_ level: LogLevel, _ message: String, _ details: [(String, String)]) {
        line.note(level, message, details)
    }

    /// How long to wait before the server is asked again that did not answer.
    private static let pause = Duration.seconds(1)

    package func ring(_ bell: @escaping @Sendable () -> Void) -> @Sendable () -> Void {
        let task = Task.alongside { [self] in
            var version: UInt64 = 0
            while !Task.isCancelled {
                do {
                    version = try await ask(.wait(after: version)) { reader, _ throws(WireError) in
                        try reader.varint()
                    }
                } catch {
                    // Who waits asks for something, and is told why there is nothing.
                    if meaning(of: error).endsJob { return bell() }
                    await sleep(until: time.advanced(by: Self.pause))
                }
                bell()
            }
        }
        return { task.cancel() }
    }

    package func text(of query: @escaping JobQuery) async throws -> String { try text(query) }

    private func text(_ query: JobQuery) throws -> String { try query(line.schema).canonicalText }

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
        var isNoted = false
        while true {
            do {
                let (bytes, schema) = try await line.ask(question)
                let answer = try ByteReader.decode(bytes) { reader throws(WireError) in try decode(&reader, schema) }
                return (answer, isRepeated)
            } catch let error as SyncError where error.code == .unreachable || error.code == .server {
                try Task.checkCancellation()
                isRepeated = true
                guard error.code == .server else { continue }
                // The session goes on, and would ask at once.
                if !isNoted { note(.warning, "a job waits for its server", [("error", error.message)]) }
                isNoted = true
                await sleep(until: time.advanced(by: Self.pause))
            } catch let error as WireError {
                throw SyncError(.protocolViolation, "the server's answer to a job cannot be read: \(error.message)")
            }
        }
    }

    // MARK: Reading

    package func chunk(
        after checkpoint: Checkpoint?, _ sizes: ChunkSizes, of query: @escaping JobQuery
    ) async throws -> ConsumerChunk {
        try await ask(.chunk(query: text(query), after: checkpoint, rowCountMax: UInt64(sizes.rowCountMax))) {
            reader, schema throws(WireError) in try ConsumerChunk(from: &reader, schema: schema)
        }
    }

    package func count(of query: @escaping JobQuery) async throws -> Int {
        Int(clamping: try await ask(.count(query: text(query))) { reader, _ throws(WireError) in try reader.varint() })
    }

    package func rows(
        after key: ObjectKey?, countMax: Int, ofQueue name: String, _ query: @escaping JobQuery, withPartitions: Bool
    ) async throws -> QueueRows {
        try await ask(
            .queue(
                name: name, query: text(query), after: key, rowCountMax: UInt64(countMax),
                withPartitions: withPartitions)
        ) { reader, schema throws(WireError) in try QueueRows(from: &reader, schema: schema) }
    }

    package func list(_ query: @escaping JobQuery) async throws -> [ObjectKey]? {
        try await ask(.list(query: text(query))) { reader, _ throws(WireError) in
            try reader.optional { reader throws(WireError) in
                try reader.array { reader throws(WireError) in try ObjectKey(from: &reader) }
            }
        }
    }

    package func rows(_ keys: [ObjectKey], of query: @escaping JobQuery) async throws -> JobRows {
        try await ask(.rows(query: text(query), keys: keys)) { reader, schema throws(WireError) in
            try JobRows(from: &reader, schema: schema)
        }
    }

    // MARK: Records

    package func record(_ key: JobRecord.Key) async throws -> JobRecord? {
        try await ask(.record(key)) { reader, _ throws(WireError) in
            try reader.optional { reader throws(WireError) in try JobRecord(from: &reader) }
        }
    }

    package func records(ofSpace space: String) async throws -> [JobRecord] {
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

    package func spaces(withPrefix prefix: String) async throws -> [(name: String, count: Int)] {
        try await ask(.spaces(prefix: prefix)) { reader, _ throws(WireError) in
            try reader.array { reader throws(WireError) in
                (try reader.string(), Int(clamping: try reader.varint()))
            }
        }
    }

    package func version() async throws -> UInt64 {
        try await ask(.wait(after: .max)) { reader, _ throws(WireError) in try reader.varint() }
    }

    package func apply(_ writes: [JobWrite]) async throws -> [Bool] {
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

    package func write<Result: Sendable>(
        _ writes: [JobWrite], _ body: @escaping @Sendable (borrowing WriteTransaction) throws -> Result
    ) async throws -> Result {
        do { return try await line.write(writes, body) } catch let error as SyncError {
            switch error.code {
            case .jobConflict: throw JobWriteRejection.moved
            case .jobUnfinished: throw JobWriteRejection.unfinished
            default: throw error
            }
        }
    }

    package func binding(of element: any ResultElement.Type, classIndex: Int, schema: Schema) throws -> ElementBinding {
        try line.binding(of: element, classIndex: classIndex, in: schema)
    }

    package func meaning(of error: any Error) -> JobErrorMeaning {
        switch error {
        case let error as SyncError:
            switch error.code {
            case .stopped, .noServer, .notAuthenticated, .unknownDatabase, .protocolViolation, .schema, .resetRequired,
                .unknownReport:
                .lasting
            case .notPermitted: .notPermitted
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
