public import SluiceModel

/// The error when what a test waits for does not come about in time.
public struct NotSettled: SluiceError {
    /// What went on, or did not begin.
    public let message: String

    init(_ message: String) { self.message = message }
}
