extension StoreSession: CustomStringConvertible {
    /// One line: what syncing does, and why if something keeps it from doing it. The reason is cut after 300 characters.
    public var description: String { "StoreSession(\(BoundedText.cut("\(status)")))" }
}
