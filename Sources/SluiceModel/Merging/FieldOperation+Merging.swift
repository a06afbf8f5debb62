extension FieldOperation {
    /// The value of the property after this operation, considering what others wrote concurrently; nil if the operation
    /// is superseded.
    ///
    /// Of assignments the later (timestamp, client) wins. Additions commute, and count on top of the assignments before
    /// them.
    ///
    /// - Parameters:
    ///   - current: the server's value.
    ///   - history: the changes of the object after the version that the author knew.
    func merged(into current: Value, author: WriteStamp, history: ObjectHistory) -> Value? {
        if let assigned = history.latestAssignment(of: property), author < assigned { return nil }
        var value = change.applied(to: current)
        if case .set = change {
            for amount in history.additions(to: property, laterThan: author) {
                value = Change.add(amount).applied(to: value)
            }
        }
        return value
    }
}
