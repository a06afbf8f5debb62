internal import SluiceModel
internal import SluiceQuery
internal import SluiceWire

/// What a queue keeps of rows that are gone: deleted, or changed so that they are no results any more. Nobody claims these
/// again, and so nobody would remove it.
struct QueueLeftovers {
    private let host: any JobHost
    private let queue: String
    /// How many rows are read at a time.
    private static let rowCountMax = 100

    init(_ host: any JobHost, ofQueue queue: String) {
        self.host = host
        self.queue = queue
    }

    // MARK: Claims

    /// The changes that remove claims that have ended and whose rows are no results any more, and holds of partitions that
    /// have ended. O(claims).
    ///
    /// - Parameters:
    ///   - now: the server's clock.
    ///   - held: what this process holds, whose leases may be extended late.
    ///   - query: that of the queue.
    func endedClaims(
        at now: Timestamp, except held: Set<JobRecord.Key>, _ query: String
    ) async throws -> [JobWrite] {
        func ended(_ space: String) async throws -> [JobRecord] {
            try await host.records(ofSpace: space).filter { record in
                record.due.map { $0 <= now } ?? false && !held.contains(record.key)
            }
        }
        let claims = try await ended(QueueClaim.space(queue)).map { record in
            JobWrite(
                record.key, .remove, if: .overdue(record.value),
                .unmatched(try DeadLetterRecord.identity(of: record.key.name), query: query))
        }
        return try await claims
            + ended(QueueClaim.partitionSpace(queue)).map { JobWrite($0.key, .remove, if: .overdue($0.value)) }
    }

    // MARK: Dead rows

    /// The changes that remove dead letters. A row that is as it was stays dead, also where it is no result for a while.
    /// O(dead rows).
    ///
    /// - Parameter query: that of the queue.
    func goneLetters(_ query: String) async throws -> [JobWrite] {
        var removals: [JobWrite] = []
        for space in [QueueClaim.deadSpace(queue), QueueClaim.discardedSpace(queue)] {
            let letters = try await host.records(ofSpace: space)
            for start in stride(from: 0, to: letters.count, by: Self.rowCountMax) {
                let part = letters[start..<min(start + Self.rowCountMax, letters.count)]
                removals += try await self.removals(of: part, query)
            }
        }
        return removals
    }

    private func removals(of letters: ArraySlice<JobRecord>, _ query: String) async throws -> [JobWrite] {
        var objects: [(letter: JobRecord, object: Identity, version: UInt64)] = []
        for letter in letters {
            let version = try letter.decoded(as: DeadLetterRecord.self).version
            objects.append((letter, try DeadLetterRecord.identity(of: letter.key.name), version))
        }
        var removals: [JobWrite] = []
        for className in Set(objects.map(\.object.className)).sorted() {
            let ofClass = objects.filter { $0.object.className == className }
            let versions = try await self.versions(of: ofClass.map(\.object.key), className)
            for (letter, object, version) in ofClass where versions[object.key] != version {
                removals.append(
                    JobWrite(letter.key, .remove, if: .value(letter.value), .unmatched(object, query: query)))
            }
        }
        return removals
    }

    /// The versions of objects that are there.
    private func versions(of keys: [ObjectKey], _ className: String) async throws -> [ObjectKey: UInt64] {
        let found = try await host.rows(keys) { schema in
            try Query(QuerySyntax(.objects(className: className)), schema: schema)
        }
        return Dictionary(found.rows.map { ($0.key, $0.version) }) { first, _ in first }
    }
}
