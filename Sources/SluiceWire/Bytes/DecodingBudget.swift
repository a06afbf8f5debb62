/// How much one frame or blob may still decode to; what bounds the memory that hostile bytes can ask for.
package struct DecodingBudget: Sendable {
    /// Array elements: values, keys, operations.
    @usableFromInline package var elements: Int
    /// Bytes that compressed parts expand to.
    package var expansion: Int
    /// Levels of values within values.
    package var depth: Int

    package init(_ limits: WireLimits) {
        elements = limits.elementCountMax
        expansion = limits.expandedLengthMax
        depth = limits.nestingDepthMax
    }
}
