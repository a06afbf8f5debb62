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
    /// What names the rights of the reader, where it may not read everything: what it gains or loses otherwise than by a
    /// change of objects is told by beginning anew.
    package var rights: ObjectID
    package var place: Place

    /// The rights of who may read everything.
    package static let everything = ObjectID(high: 0, low: 0)

    package init(
        databaseID: ObjectID, epoch: UInt64, query: ObjectID, rights: ObjectID = Self.everything, place: Place
    ) {
        self.databaseID = databaseID
        self.epoch = epoch
        self.query = query
        self.rights = rights
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
    package mutating func append(through key: ObjectKey?, version: UInt64) {
        if let last, last.version == version { removeLast() }
        append(Checkpoint.Stretch(through: key, version: version))
    }

    /// Notes that what had changed up to a version was given of the objects up to a key.
    ///
    /// - Parameter key: at most the last key of the last stretch.
    package mutating func raise(through key: ObjectKey, to version: UInt64) {
        var raised: [Checkpoint.Stretch] = []
        func add(_ end: ObjectKey?, _ version: UInt64) { raised.append(through: end, version: version) }
        for (index, stretch) in enumerated() {
            guard let end = stretch.key, end <= key else {
                let begin = index == startIndex ? nil : self[index - 1].key
                if begin.map({ $0 < key }) ?? true { add(key, Swift.max(version, stretch.version)) }
                add(stretch.key, stretch.version)
                continue
            }
            add(end, Swift.max(version, stretch.version))
        }
        self = raised
    }

    /// What the stretches take in a record, about.
    package var byteCount: Int { reduce(0) { $0 + ($1.key?.byteCount ?? 0) + 8 } }
}
