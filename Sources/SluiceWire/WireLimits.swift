/// What a reader accepts. Every length and count is checked against these before anything is allocated for it.
package struct WireLimits: Hashable, Sendable {
    /// The longest frame as it travels, in bytes.
    package var frameLengthMax: Int
    /// The most bytes that one frame may expand to, the frame itself and all blocks within it together.
    package var expandedLengthMax: Int
    /// The most messages of one frame, those that the reader skips included.
    package var messageCountMax: Int
    /// The most messages and array elements that one frame may decode to; those that are larger than a value (24 bytes)
    /// count for more.
    package var elementCountMax: Int
    /// The deepest nesting of values within values.
    package var nestingDepthMax: Int

    package init(
        frameLengthMax: Int = 16 << 20, expandedLengthMax: Int = 64 << 20, messageCountMax: Int = 65_536,
        elementCountMax: Int = 8 << 20, nestingDepthMax: Int = 8
    ) {
        self.frameLengthMax = frameLengthMax
        self.expandedLengthMax = expandedLengthMax
        self.messageCountMax = messageCountMax
        self.elementCountMax = elementCountMax
        self.nestingDepthMax = nestingDepthMax
    }

    /// The limits of protocol version 1 where nobody said otherwise.
    package static let standard = WireLimits()
}
