/// How far a reader of a query's results has come: what it has been given of the results, as of which versions of the
/// database.
///
/// A checkpoint belongs to one query on one database. While the results are read for the first time they come in the
/// order of their keys, and it says up to which key at which version; afterwards it says after which version the changes
/// are still to come.
public struct Checkpoint: Sendable, Hashable {
    /// Up to which key results were read, and as of which version. A key of nil is beyond all keys.
    package struct Stretch: Sendable, Hashable {
        package var key: ObjectKey?
        package var version: UInt64

        package init(through key: ObjectKey?, version: UInt64) {
            self.key = key
            self.version = version
        }
    }

    package enum Place: Sendable, Hashable {
        /// The results are being read. Each stretch begins behind the one before.
        case reading([Stretch])
        /// The results were read, and the changes after a version are to come.
        ///
        /// - Parameters:
        ///   - until: the version up to which changes are being given, in the order of keys; nil between two such rounds.
        ///   - key: up to which key they were given.
        ///   - read: what was read at versions after `version`.
        case changes(after: UInt64, until: UInt64?, key: ObjectKey?, read: [Stretch])
    }

    package var databaseID: ObjectID
    /// The epoch that the versions belong to.
    package var epoch: UInt64
    /// The hash of the query's canonical text.
    package var query: ObjectID
    package var place: Place

    package init(databaseID: ObjectID, epoch: UInt64, query: ObjectID, place: Place) {
        self.databaseID = databaseID
        self.epoch = epoch
        self.query = query
        self.place = place
    }

    /// The version after which changes are needed; nil if nothing was read yet.
    package var version: UInt64? {
        switch place {
        case .reading(let stretches): stretches.map(\.version).min()
        case .changes(let version, _, _, _): version
        }
    }

    /// The latest version that any part belongs to.
    package var latestVersion: UInt64 {
        switch place {
        case .reading(let stretches): stretches.map(\.version).max() ?? 0
        case .changes(let version, let until, _, let read):
            max(version, until ?? 0, read.map(\.version).max() ?? 0)
        }
    }
}

extension [Checkpoint.Stretch] {
    /// The version as of which an object was read; 0 if it was not.
    package func version(of key: ObjectKey) -> UInt64 {
        first { stretch in stretch.key.map { key <= $0 } ?? true }?.version ?? 0
    }

    /// Adds what was read next.
    ///
    /// - Parameter countMax: the most stretches that are kept apart. Beyond it, two neighbours become one with the earlier
    ///   version: what the other had of later versions is then given once more.
    package mutating func append(through key: ObjectKey?, version: UInt64, countMax: Int = .max) {
        if let last, last.version == version { removeLast() }
        append(Checkpoint.Stretch(through: key, version: version))
        guard count > countMax else { return }
        let gaps = indices.dropLast().map { (self[$0 + 1].version &- self[$0].version, $0) }
        guard let place = gaps.min(by: { $0.0 < $1.0 })?.1 else { return }
        self[place + 1].version = Swift.min(self[place].version, self[place + 1].version)
        remove(at: place)
    }
}
