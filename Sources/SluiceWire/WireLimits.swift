package import SluiceModel

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
        frameLengthMax: Int = DataLimits.standard.frameByteCount,
        expandedLengthMax: Int = DataLimits.standard.expandedByteCount,
        messageCountMax: Int = DataLimits.standard.messageCount,
        elementCountMax: Int = DataLimits.standard.downloadElementCount,
        nestingDepthMax: Int = DataLimits.standard.valueDepth
    ) {
        self.frameLengthMax = frameLengthMax
        self.expandedLengthMax = expandedLengthMax
        self.messageCountMax = messageCountMax
        self.elementCountMax = elementCountMax
        self.nestingDepthMax = nestingDepthMax
    }

    /// What a client accepts.
    package init(downloadsOf limits: DataLimits) {
        self.init(
            frameLengthMax: limits.frameByteCount, expandedLengthMax: limits.expandedByteCount,
            messageCountMax: limits.messageCount, elementCountMax: limits.downloadElementCount,
            nestingDepthMax: limits.valueDepth)
    }

    /// What a server accepts.
    package init(uploadsOf limits: DataLimits) {
        self.init(downloadsOf: limits)
        elementCountMax = limits.uploadElementCount
    }

    /// What clients accept by protocol version 1.
    package static let standard = WireLimits(downloadsOf: .standard)
}
