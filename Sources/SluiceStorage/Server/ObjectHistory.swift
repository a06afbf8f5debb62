package import SluiceModel

/// When and by whom something was written; later is a later time and, at the same time, the greater client.
package struct WriteStamp: Hashable, Comparable, Sendable {
    package var timestamp: HybridTimestamp
    package var clientID: UInt64
    /// The version that the write made.
    package var version: UInt64

    package init(timestamp: HybridTimestamp, clientID: UInt64, version: UInt64) {
        self.timestamp = timestamp
        self.clientID = clientID
        self.version = version
    }

    package static func < (left: WriteStamp, right: WriteStamp) -> Bool {
        left.timestamp != right.timestamp ? left.timestamp < right.timestamp : left.clientID < right.clientID
    }
}

/// What was done to one object after a version, as far as merging needs it.
package struct ObjectHistory: Hashable, Sendable {
    /// What was done to one property.
    package struct PropertyHistory: Hashable, Sendable {
        /// The latest assignment, by stamp.
        package var assigned: WriteStamp?
        /// Every addition, in the order of versions.
        package var additions: [Addition] = []

        package init(assigned: WriteStamp? = nil, additions: [Addition] = []) {
            self.assigned = assigned
            self.additions = additions
        }
    }

    package struct Addition: Hashable, Sendable {
        package var stamp: WriteStamp
        package var amount: Value

        package init(stamp: WriteStamp, amount: Value) {
            self.stamp = stamp
            self.amount = amount
        }
    }

    /// The last create and the last delete, by version.
    package var created: WriteStamp?
    package var deleted: WriteStamp?
    /// By property position, since the last create or delete.
    package var properties: [Int: PropertyHistory] = [:]

    package init() {}

    /// Whether nothing was done.
    package var isEmpty: Bool { created == nil && deleted == nil && properties.isEmpty }
}
