package import SluiceModel
package import SluiceStorage
internal import SluiceWire

extension SQLiteServerStorage {
    /// Rows that a queue's query finds, with what the queue knows of each.
    ///
    /// - Parameters:
    ///   - found: the rows, in the order of the query.
    ///   - epochs: those of the database.
    ///   - withPartitions: whether to tell of which partitions somebody works at a row. O(partitions that are held).
    package func queueRows(
        _ found: FoundRows, _ schema: Schema, _ name: String, at now: Timestamp, _ epochs: [Epoch],
        withPartitions: Bool
    ) throws -> QueueRows {
        let space = QueueClaim.space(name)
        let deadSpaces = [QueueClaim.deadSpace(name), QueueClaim.discardedSpace(name)]
        let rows = try found.rows.map { row in
            let name = DeadLetterRecord.name(of: schema[found.classIndex].name, row.key)
            var dead: JobRecord?
            for space in deadSpaces where dead == nil { dead = try job(.init(space: space, name: name)) }
            return QueueRow(row, claim: try job(.init(space: space, name: name)), dead: dead)
        }
        let partitions = withPartitions ? QueueClaim.partitionSpace(name) : nil
        let dues = try [space, partitions].compactMap { try $0.flatMap { try nextDue(ofSpace: $0, after: now) } }
        return QueueRows(
            rows, after: found.precedingVersion, isLast: found.isLast, schema: schema, classIndex: found.classIndex,
            at: now,
            nextDue: dues.min(),
            busyPartitions: try partitions.map { try busyPartitions(of: $0, at: now) } ?? [],
            epochs: epochs.covering(found.rows.lazy.map(\.version)))
    }

    /// The partitions of which somebody works at a row.
    private func busyPartitions(of space: String, at now: Timestamp) throws -> [String] {
        var busy: Set<String> = []
        var last: [UInt8]?
        while true {
            let found = try jobs(ofSpace: space, after: last, countMax: 1_000)
            for record in found {
                let claim = try QueueClaim(wireBytes: record.value)
                if let due = record.due, due > now, let partition = claim.partition { busy.insert(partition) }
            }
            guard found.count == 1_000, let record = found.last else { return busy.sorted() }
            last = record.key.name
        }
    }
}
