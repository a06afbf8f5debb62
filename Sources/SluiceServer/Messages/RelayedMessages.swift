/// Messages of other servers' clients that wait for a database's next turn. What is beyond the bounds is lost.
struct RelayedMessages {
    static let countMax = 4_096
    static let byteCountMax = 4 << 20

    private var frames: [[UInt8]] = []
    private var byteCount = 0

    var isEmpty: Bool { frames.isEmpty }

    mutating func add(_ messages: [[UInt8]]) {
        for message in messages where frames.count < Self.countMax && byteCount + message.count <= Self.byteCountMax {
            frames.append(message)
            byteCount += message.count
        }
    }

    /// Removes and returns what waits.
    mutating func take() -> [[UInt8]] {
        defer { self = RelayedMessages() }
        return frames
    }
}
