/// The error when what a test waits for does not come about in time.
public struct NotSettled: Error, Sendable, CustomStringConvertible {
    /// What went on, or did not begin.
    public let description: String

    init(_ description: String) { self.description = description }
}
