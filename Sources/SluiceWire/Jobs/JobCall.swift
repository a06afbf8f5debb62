package import SluiceModel

extension ClientMessage {
    /// What a job of a client asks of the database. The server answers as a report request; see ``JobCall/Question`` for
    /// the bytes.
    package struct JobCall: Hashable, Sendable {
        package var session: UInt64
        /// The number of the request.
        package var request: UInt64
        package var question: Question

        package init(session: UInt64, request: UInt64, question: Question) {
            self.session = session
            self.request = request
            self.question = question
        }
    }
}

extension ClientMessage.JobCall {
    /// Each is answered with the bytes named here.
    package enum Question: Hashable, Sendable {
        /// What a consumer is to be given after a checkpoint: a ``ConsumerChunk``.
        case chunk(query: String, after: Checkpoint?, rowCountMax: UInt64)
        /// How many results a query has: a varint.
        case count(query: String)
        /// Rows of a queue in its order, behind the row with a key, or from the first on: ``QueueRows``.
        case queue(name: String, query: String, after: ObjectKey?, rowCountMax: UInt64, withPartitions: Bool)
        /// The keys of all results in their order, or nil for a query without an order and a limit: an optional array of
        /// keys.
        case list(query: String)
        /// Results by their keys: the class, an array of rows, each behind its length, then the epochs of their versions.
        case rows(query: String, keys: [ObjectKey])
        /// A record of a job, or nil: an optional ``JobRecord``.
        case record(JobRecord.Key)
        /// Records of a space, ascending by name, at most ``JobWrite/countMax``: an array of ``JobRecord``.
        case records(space: String, after: [UInt8]?)
        /// Spaces with records: an array, each with its name and the number of its records.
        case spaces(prefix: String)
        /// Changes of records, each of which is made if it counts: an array with a byte for each, 1 if it was made.
        case apply([JobWrite])
        /// Whether something was committed after a moment, or the user may read something else since; the answer waits
        /// until then: the present moment, a varint. A moment is the answer to an earlier question, or 0; `UInt64.max`
        /// asks for the present version, at once.
        case wait(after: UInt64)
        /// What becomes of an object that a job has given up and that is kept in a space: it is tried again, or forgotten.
        /// An array with a byte for each change of a record, 1 if it was made; with one 0 where it was not given up.
        case settle(space: String, Identity, isRetried: Bool)
    }
}

extension ClientMessage.JobCall.Question: WireCodable {
    package func encode(into writer: inout ByteWriter) {
        switch self {
        case .chunk(let query, let checkpoint, let countMax):
            writer.byte(0)
            writer.string(query)
            writer.optional(checkpoint) { $1.encode(into: &$0) }
            writer.varint(countMax)
        case .count(let query):
            writer.byte(1)
            writer.string(query)
        case .queue(let name, let query, let key, let countMax, let withPartitions):
            writer.byte(2)
            writer.string(name)
            writer.string(query)
            writer.optional(key) { $1.encode(into: &$0) }
            writer.varint(countMax)
            writer.bool(withPartitions)
        case .record(let key):
            writer.byte(3)
            key.encode(into: &writer)
        case .records(let space, let name):
            writer.byte(4)
            writer.string(space)
            writer.optional(name) { $0.data($1) }
        case .spaces(let prefix):
            writer.byte(5)
            writer.string(prefix)
        case .apply(let writes):
            writer.byte(6)
            writer.array(writes) { $1.encode(into: &$0) }
        case .wait(let version):
            writer.byte(7)
            writer.varint(version)
        case .list(let query):
            writer.byte(8)
            writer.string(query)
        case .rows(let query, let keys):
            writer.byte(9)
            writer.string(query)
            writer.array(keys) { $1.encode(into: &$0) }
        case .settle(let space, let object, let isRetried):
            writer.byte(10)
            writer.string(space)
            object.encode(into: &writer)
            writer.bool(isRetried)
        }
    }

    package init(from reader: inout ByteReader) throws(WireError) {
        switch try reader.byte() {
        case 0:
            self = .chunk(
                query: try reader.string(),
                after: try reader.optional { reader throws(WireError) in try Checkpoint(from: &reader) },
                rowCountMax: try reader.varint())
        case 1: self = .count(query: try reader.string())
        case 2:
            self = .queue(
                name: try reader.string(), query: try reader.string(),
                after: try reader.optional { reader throws(WireError) in try ObjectKey(from: &reader) },
                rowCountMax: try reader.varint(), withPartitions: try reader.bool())
        case 3: self = .record(try JobRecord.Key(from: &reader))
        case 4:
            self = .records(
                space: try reader.string(),
                after: try reader.optional { reader throws(WireError) in try reader.data() })
        case 5: self = .spaces(prefix: try reader.string())
        case 6: self = .apply(try JobWrite.list(from: &reader))
        case 7: self = .wait(after: try reader.varint())
        case 8: self = .list(query: try reader.string())
        case 9:
            self = .rows(
                query: try reader.string(),
                keys: try reader.array(minimumSize: 2) { reader throws(WireError) in try ObjectKey(from: &reader) })
        case 10:
            self = .settle(
                space: try reader.string(), try Identity(from: &reader), isRetried: try reader.bool())
        case let code: throw reader.malformed("\(code) is no question of a job")
        }
    }
}
