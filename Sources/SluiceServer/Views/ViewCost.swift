internal import SluiceModel
internal import SluiceWire

/// What a view has cost since it was made, and what has come of it. 48 bytes; see ``ViewRecord``.
struct ViewCost {
    /// How many commits the index of views has found to concern it.
    private(set) var foundCount: UInt64 = 0
    /// How many nanoseconds it has taken to apply those, and to encode what they changed.
    private(set) var applyingTime: UInt64 = 0
    /// The encoded content that was sent for it, to all subscribers, in bytes, without what frames add.
    private(set) var sentByteCount: UInt64 = 0
    /// How many subscriptions were brought up to date by pages.
    private(set) var bootstrapCount: UInt64 = 0
    /// How many microseconds passed from their requests to their last pages, together.
    private(set) var bootstrapTime: UInt64 = 0
    /// How many pages were sent.
    private(set) var sentPageCount: UInt64 = 0

    /// - Parameter nanoseconds: how long it took.
    mutating func noteFound(took nanoseconds: Int64) {
        foundCount += 1
        applyingTime += UInt64(max(0, nanoseconds))
    }

    mutating func noteSent(byteCount: Int) { sentByteCount += UInt64(byteCount) }

    mutating func notePage(byteCount: Int) {
        sentPageCount += 1
        noteSent(byteCount: byteCount)
    }

    /// - Parameter microseconds: from the request to the last page.
    mutating func noteBootstrap(took microseconds: Int64) {
        bootstrapCount += 1
        bootstrapTime += UInt64(max(0, microseconds))
    }
}

extension [Value] {
    /// What figures add to frames, in bytes.
    var encodedSize: Int {
        var writer = ByteWriter()
        for value in self { value.encode(into: &writer) }
        return writer.count
    }
}
