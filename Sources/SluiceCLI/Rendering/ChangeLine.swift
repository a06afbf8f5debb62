internal import SluiceExchange
internal import SluiceModel

/// A change event as `--watch --format=jsonl` prints it: one line of JSON, in which all members are always present.
struct ChangeLine {
    /// The origin of a change that came from the server.
    struct Remote: Hashable, Sendable {
        let userID: String?
        let operations: [String]
        let acceptedAt: Timestamp
        let receivedAt: Timestamp
        let workerID: String?
    }

    let isInitial: Bool
    let state: String
    let inserted: [Record]
    let updated: [Record]
    let removed: [(id: ObjectID, reason: String)]
    let count: Int
    /// How many objects match, whatever the limit; nil if the query does not ask for that, or nobody knows.
    var total: Int?
    /// Whether the server would say the same total if it had all writes of this store.
    var isTotalExact = false
    let remote: Remote?

    /// The line with its line feed.
    func bytes(_ renderer: RecordRenderer) throws -> [UInt8] {
        var writer = JSONWriter()
        writer.raw("{\"type\":")
        writer.string(isInitial ? "initial" : "update")
        writer.raw(",\"state\":")
        writer.string(state)
        try write("inserted", inserted, renderer, to: &writer)
        try write("updated", updated, renderer, to: &writer)
        writer.name("removed", isFirst: false)
        writer.array(removed) { writer, removal in
            writer.raw("{\"@id\":")
            writer.string(removal.id.description)
            writer.raw(",\"reason\":")
            writer.string(removal.reason)
            writer.raw("}")
        }
        writer.raw(",\"count\":")
        writer.integer(count)
        writer.raw(",\"total\":")
        if let total { writer.integer(total) } else { writer.raw("null") }
        writer.raw(",\"exact\":")
        writer.raw(total == nil ? "null" : isTotalExact ? "true" : "false")
        writer.raw(",\"remote\":")
        if let remote { write(remote, to: &writer) } else { writer.raw("null") }
        writer.raw("}")
        writer.endLine()
        return writer.bytes
    }

    private func write(
        _ name: String, _ records: [Record], _ renderer: RecordRenderer, to writer: inout JSONWriter
    ) throws {
        writer.name(name, isFirst: false)
        writer.raw("[")
        for (index, record) in records.enumerated() {
            if index > 0 { writer.raw(",") }
            try renderer.write(record, to: &writer)
        }
        writer.raw("]")
    }

    private func write(_ remote: Remote, to writer: inout JSONWriter) {
        writer.raw("{\"userID\":")
        optional(remote.userID, to: &writer)
        writer.raw(",\"operations\":")
        writer.array(remote.operations) { $0.string($1) }
        writer.raw(",\"acceptedAt\":")
        writer.string(remote.acceptedAt.description)
        writer.raw(",\"receivedAt\":")
        writer.string(remote.receivedAt.description)
        writer.raw(",\"workerID\":")
        optional(remote.workerID, to: &writer)
        writer.raw("}")
    }

    private func optional(_ text: String?, to writer: inout JSONWriter) {
        if let text { writer.string(text) } else { writer.raw("null") }
    }
}
