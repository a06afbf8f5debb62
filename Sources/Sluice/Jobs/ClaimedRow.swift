internal import SluiceModel
internal import SluiceQuery
internal import SluiceWire

/// A row of a queue that a worker has claimed.
struct ClaimedRow: Sendable {
    let row: Row
    let classIndex: Int
    let schema: Schema
    let epochs: [Epoch]
    let key: JobRecord.Key
    let claim: QueueClaim
    /// Whether it is worked at alone: it may be what ends the processes that work at it.
    let isAlone: Bool
    /// By what the row's partition is held; nil if it has none.
    let partition: PartitionHold?

    var attempt: Int { Int(clamping: claim.attemptCount) }
    var identity: Identity { Identity(className: schema[classIndex].name, key: row.key) }

    /// The changes that end what is held beside the claim.
    var releases: [JobWrite] { partition.map { [$0.release] } ?? [] }

    /// The changes that extend its lease, and that of its partition.
    func extensions(by lease: Duration) -> [JobWrite] {
        let value = claim.wireBytes()
        return [JobWrite(key, .set(.after(lease), value: value), if: .value(value))]
            + (partition.map { [$0.extension(by: lease)] } ?? [])
    }
}

/// The record by which a claimed row's partition is held.
struct PartitionHold: Sendable {
    let key: JobRecord.Key
    private let value: [UInt8]

    init(_ queue: String, _ partition: String, by holder: UInt64) {
        key = QueueClaim.partitionKey(queue, partition)
        value = QueueClaim(holder: holder, attemptCount: 0, partition: partition).wireBytes()
    }

    /// Takes it.
    ///
    /// - Parameter former: the record of one whose lease has ended; nil if there is none.
    func taking(for lease: Duration, from former: JobRecord?) -> JobWrite {
        JobWrite(key, .set(.after(lease), value: value), if: former.map { .value($0.value) } ?? .absent)
    }

    func `extension`(by lease: Duration) -> JobWrite {
        JobWrite(key, .set(.after(lease), value: value), if: .value(value))
    }

    /// It has no effect once somebody else holds the partition.
    var release: JobWrite { JobWrite(key, .remove, if: .value(value)) }
}

extension JobHost {
    /// Takes holds of partitions.
    ///
    /// - Parameter now: the server's clock.
    /// - Returns: the keys of those that nobody else had.
    func take(_ holds: [PartitionHold], for lease: Duration, at now: Timestamp) async throws -> Set<JobRecord.Key> {
        let made = try await applyAll(holds.map { $0.taking(for: lease, from: nil) })
        var taken = Set(zip(holds, made).filter { $0.1 }.map(\.0.key))
        for hold in holds where !taken.contains(hold.key) {
            // Its holder may have died.
            guard let record = try await record(hold.key), let due = record.due, due <= now,
                try await apply([hold.taking(for: lease, from: record)]) == [true]
            else { continue }
            taken.insert(hold.key)
        }
        return taken
    }
}
