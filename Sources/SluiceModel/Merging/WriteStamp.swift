/// When and by whom something was written. Stamps are ordered by time and, at the same time, by client id.
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

    /// Earlier than every other.
    static let earliest = WriteStamp(timestamp: HybridTimestamp(microseconds: .min), clientID: 0, version: 0)

    package static func < (left: WriteStamp, right: WriteStamp) -> Bool {
        left.timestamp != right.timestamp ? left.timestamp < right.timestamp : left.clientID < right.clientID
    }
}
