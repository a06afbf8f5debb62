extension FieldOperation.Change {
    /// The one change that has the effect of this one followed by a later one.
    package func followed(by later: FieldOperation.Change) -> FieldOperation.Change {
        switch (self, later) {
        case (_, .set): later
        case (.set(let value), .add): .set(later.applied(to: value))
        case (.add(let amount), .add): .add(later.applied(to: amount))
        }
    }
}

extension [FieldOperation] {
    /// Appends later operations, and combines all into one for each property.
    package func folding(_ later: [FieldOperation]) -> [FieldOperation] {
        var folded = self
        for field in later { folded.fold(field) }
        return folded
    }

    /// Appends a later operation, or combines it with the one on the same property. A property that is set anew comes
    /// last.
    package mutating func fold(_ later: FieldOperation) {
        guard let earlier = lastIndex(where: { $0.property == later.property }) else { return append(later) }
        guard case .set = later.change else {
            self[earlier].change = self[earlier].change.followed(by: later.change)
            return
        }
        remove(at: earlier)
        append(later)
    }
}
