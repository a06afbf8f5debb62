extension FieldOperation.Change {
    /// The one change that has the effect of this one followed by a later one of the same property.
    package func followed(by later: FieldOperation.Change) -> FieldOperation.Change {
        var whole = self
        whole.append(later)
        return whole
    }

    /// Adds a later change. Many edits, one after the other, cost as much as all of them at once.
    fileprivate mutating func append(_ later: FieldOperation.Change) {
        switch (self, later) {
        case (_, .set), (_, .setDefault), (_, .clear): self = later
        // What is changed is no default any more.
        case (.set(let value), _), (.setDefault(let value), _): self = .set(later.applied(to: value))
        case (.add(let amount), .add): self = .add(later.applied(to: amount))
        case (.clear, .edit(let edits)): self = .set(edits.inserted)
        // Not combined, see below.
        case (.clear, .editList): break
        case (.edit(var edits), .edit(let more)):
            // The edits must not be shared while they grow.
            self = .clear
            edits.append(more)
            self = .edit(edits)
        case (.editList(var edits), .editList(let more)):
            self = .clear
            edits.append(more)
            self = .editList(edits)
        // No property takes both.
        case (.add, _), (.edit, _), (.editList, _), (.clear, .add): break
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

    /// Appends a later operation, or combines it with the one on the same property. A property that is assigned anew
    /// comes last. What changes a default stays apart from it, since it counts also where the default yields. Edits of a
    /// list stay apart from the assignment before them, for combined they would not say what the elements are.
    package mutating func fold(_ later: FieldOperation) {
        guard let earlier = lastIndex(where: { $0.property == later.property }) else { return append(later) }
        if later.change.isAssignment {
            removeAll { $0.property == later.property }
            append(later)
        } else if case .setDefault = self[earlier].change {
            append(later)
        } else if case .editList = later.change, self[earlier].change.isAssignment {
            append(later)
        } else {
            self[earlier].change.append(later.change)
        }
    }
}
